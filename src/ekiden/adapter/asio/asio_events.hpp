/// What Asio waits for, as events that a thread of our context runs: no thread of Asio's is needed.
///
/// Part: adapter. Used by: asio_context. Private. `Asio` is standalone_asio or boost_asio.
///
/// On an io_context the threads in its run() go to the system by way of a task of Asio's scheduler, which
/// stands in the scheduler's queue behind the operations that have ended. Here a thread of ours is in there,
/// and the task is our own: around the reactor's wait it goes through the context's sleep, and it has the
/// scheduler return when the context wants its thread back. So whatever Asio calls is called while the thread
/// is awake in its context, and what ends there with a handler of the context's executor calls that in place.
#pragma once

#include <ekiden/execution/detail/event_source.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// Asio's context for one of ours.
template <class Asio>
struct asio_own_context final : Asio::execution_context {
    using Asio::execution_context::shutdown;
    void* events = nullptr; // the asio_events, if there are
};

/// Whether this version of Asio lets others run its scheduler.
template <class Asio>
inline constexpr bool asio_has_events = requires { typename Asio::scheduler_task; };

/// To be made before the context has any service of Asio's. One thread at a time runs it.
template <class Asio>
class asio_events final : public event_source {
    using scheduler = typename Asio::scheduler;
    using scheduler_task = typename Asio::scheduler_task;
    using operations = typename Asio::scheduler_operations;

public:
    /// Throws what Asio throws if the system has no means left, and std::bad_alloc.
    explicit asio_events(asio_own_context<Asio>& context)
        : scheduler_(make(context, *this)), alarm_(context, rings_) {
        // Now, and not with the first socket: operations that need no reactor end in its queue, too.
        scheduler_.init_task();
        scheduler_.work_started(); // for ever, so that it never stops by itself
    }

    std::size_t run(std::size_t most, event_wait* wait) override {
        const bool is_nested = depth_ != 0;
        const bool is_long = !is_nested && wait != nullptr && most == std::numeric_limits<std::size_t>::max();
        const inside here(*this, wait, is_long);
        typename Asio::error_code ignored;
        if (is_long) {
            const std::size_t ran = scheduler_.run(ignored);
            scheduler_.restart(); // after leave()
            return ran - rings_;
        }
        std::size_t ran = 0;
        do { // in a handler: first what that has left to the end of the outer call
            rings_ = 0;
            if (is_nested || wait == nullptr) ran = scheduler_.poll_one(ignored);
        } while (ran != 0 && rings_ != 0);
        if (ran == 0 && wait != nullptr) ran = scheduler_.wait_one(long_us, ignored) - rings_;
        return ran;
    }

    void interrupt() noexcept override { reactor_->interrupt(); }

    /// Before Asio's services are shut down.
    void end() noexcept { alarm_.end(); }

private:
    static constexpr std::int64_t long_us = 1'000'000'000;

    /// What the scheduler has instead of the reactor.
    class gate final : public scheduler_task {
    public:
        explicit gate(asio_events& of) noexcept : of_(of) {}
        void run(long usec, operations& ended) override { of_.look(usec, ended); }
        /// By the scheduler, under its lock, which has something for the thread in run().
        void interrupt() override {
            if (!of_.is_leaving_.load(sys::relaxed)) of_.interrupt();
        }

    private:
        asio_events& of_;
    };

    class inside {
    public:
        inside(asio_events& of, event_wait* wait, bool is_long) noexcept
            : of_(of), outer_(std::exchange(of.wait_, wait)),
              outer_is_long_(std::exchange(of.is_long_, is_long)), outer_rings_(std::exchange(of.rings_, 0)) {
            ++of.depth_;
        }
        ~inside() {
            --of_.depth_;
            of_.rings_ = outer_rings_;
            of_.is_long_ = outer_is_long_;
            of_.wait_ = outer_;
        }
        inside(const inside&) = delete;
        inside& operator=(const inside&) = delete;

    private:
        asio_events& of_;
        event_wait* const outer_;
        const bool outer_is_long_;
        const std::size_t outer_rings_;
    };

    /// Runs what it is given.
    struct in_place {
        asio_own_context<Asio>* context_;

        [[nodiscard]] typename Asio::execution_context& query(typename Asio::context_t) const noexcept {
            return *context_;
        }
        template <class F>
        void execute(F&& f) const {
            std::forward<F>(f)();
        }
        friend bool operator==(const in_place&, const in_place&) = default;
    };

    /// Reactors wait in milliseconds. For the last ones of a wait this has a timer of Asio's, which is exact.
    class alarm {
    public:
        alarm(asio_own_context<Asio>& context, std::size_t& rings) : rings_(rings) {
            timer_.emplace(in_place{&context});
        }

        /// How long the reactor may wait, in microseconds; -1: for ever.
        [[nodiscard]] long set(sys::clock::time_point until) {
            if (until == sys::clock::time_point::max()) return -1;
            const auto left = std::chrono::ceil<std::chrono::microseconds>(until - sys::clock::now());
            if (left.count() <= 0) return 0;
            if (left > std::chrono::milliseconds(2))
                return static_cast<long>(std::min<std::int64_t>(left.count() - 1000, long_us));
            if (until != set_for_) {
                timer_->expires_at(until);
                timer_->async_wait([this](const typename Asio::error_code&) { ++rings_; });
                set_for_ = until;
            }
            return -1;
        }
        void end() noexcept { timer_.reset(); }

    private:
        std::size_t& rings_;
        std::optional<typename Asio::template timer<in_place>> timer_;
        sys::clock::time_point set_for_ = sys::clock::time_point::max();
    };

    /// The task: behind all operations that have ended. `usec`: 0 if others have ended meanwhile.
    void look(long usec, operations& ended) {
        event_wait* const wait = wait_;
        sys::clock::time_point until = sys::clock::time_point::max();
        if (wait == nullptr || (usec == 0 && !(is_long_ && wait->is_wanted())))
            return reactor_->run(0, ended);
        if (usec == 0 || !wait->begin(until)) {
            if (is_long_) leave();
            return;
        }
        struct end {
            event_wait& of;
            ~end() { of.end(); }
        } const at_last{*wait};
        reactor_->run(alarm_.set(until), ended);
    }

    /// Has the scheduler return when the task has. It would interrupt the reactor, in which nobody waits: so
    /// would whoever adds an operation just now, which the scheduler finds anyway when it is run again.
    void leave() noexcept {
        is_leaving_.store(true, sys::relaxed);
        scheduler_.stop();
        is_leaving_.store(false, sys::relaxed);
    }

    static scheduler& make(asio_own_context<Asio>& context, asio_events& self) {
        context.events = &self;
        using get_task = scheduler_task* (*)(typename Asio::execution_context&);
        using owner = typename Asio::execution_context&;
        if constexpr (std::is_constructible_v<scheduler, owner, int, bool, get_task>)
            return Asio::template make_service<scheduler>(context, 1, false, &task_of); // 1: one thread
        else
            return Asio::template make_service<scheduler>(context, false, &task_of);
    }
    static scheduler_task* task_of(typename Asio::execution_context& of) {
        auto& self = *static_cast<asio_events*>(static_cast<asio_own_context<Asio>&>(of).events);
        self.reactor_ = &Asio::reactor_of(of);
        return &self.gate_;
    }

    scheduler_task* reactor_ = nullptr;
    gate gate_{*this};
    sys::atomic<bool> is_leaving_{false};
    scheduler& scheduler_;
    alarm alarm_;
    // Of the innermost run():
    event_wait* wait_ = nullptr;
    bool is_long_ = false;  // the scheduler's own run() goes on until leave()
    std::size_t rings_ = 0; // operations that were only the alarm's, also such as were given up
    unsigned depth_ = 0;
};

/// Of an Asio that has no such task: nobody has one.
template <class Asio>
    requires(!asio_has_events<Asio>)
class asio_events<Asio> final {
public:
    explicit asio_events(asio_own_context<Asio>&) noexcept {}
    void end() noexcept {}
};

} // namespace ekiden::inline EKIDEN_ABI::detail

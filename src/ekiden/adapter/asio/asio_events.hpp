/// Lets a thread of an ekiden context wait for the system events of Asio, so that Asio needs no thread of its
/// own.
///
/// Part: adapter. Used by: asio_context. Private. The template parameter `Asio` is standalone_asio or
/// boost_asio.
///
/// In an io_context, Asio's scheduler has a special task that waits for system events. The special task is in
/// the scheduler's queue, behind the completed operations. In this adapter, a thread of the ekiden context
/// runs the scheduler, and a task of the adapter replaces the special task. The adapter's task waits for
/// system events in the reactor while the ekiden context counts the thread as asleep. The adapter's task
/// makes the scheduler return when the ekiden context needs the thread. So Asio calls handlers only while the
/// context counts the thread as awake. If the executor of a handler belongs to the ekiden context, Asio calls
/// the handler directly, without posting the handler.
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

/// The Asio context that belongs to an ekiden context.
template <class Asio>
struct asio_own_context final : Asio::execution_context {
    using Asio::execution_context::shutdown;
    void* events = nullptr; // null, or a pointer to the asio_events
};

/// Whether this version of Asio lets the adapter replace the task that waits for system events.
template <class Asio>
inline constexpr bool asio_has_events = requires { typename Asio::scheduler_task; };

/// An event source that runs Asio's scheduler in a thread of an ekiden context. The event source must be
/// constructed before the Asio context has any service. Only one thread at a time may call run().
template <class Asio>
class asio_events final : public event_source {
    using scheduler = typename Asio::scheduler;
    using scheduler_task = typename Asio::scheduler_task;
    using operations = typename Asio::scheduler_operations;

public:
    /// Throws std::bad_alloc, and whatever Asio throws if the system has no resources left.
    explicit asio_events(asio_own_context<Asio>& context)
        : scheduler_(make(context, *this)), alarm_(context, rings_) {
        // The adapter calls init_task() here, and not when the first socket is made. The reason is that
        // operations that do not use the reactor also complete in the scheduler's queue.
        scheduler_.init_task();
        // The adapter never calls work_finished(). So the scheduler does not stop when it has no work.
        scheduler_.work_started();
    }

    std::size_t run(std::size_t most, event_wait* wait) override {
        const bool is_nested = depth_ != 0;
        const bool is_long = !is_nested && wait != nullptr && most == std::numeric_limits<std::size_t>::max();
        const inside here(*this, wait, is_long);
        typename Asio::error_code ignored;
        if (is_long) {
            const std::size_t ran = scheduler_.run(ignored);
            scheduler_.restart(); // leave() has stopped the scheduler
            return ran - rings_;
        }
        std::size_t ran = 0;
        do { // A nested call of run() first runs operations that the outer call has not run yet.
            rings_ = 0;
            if (is_nested || wait == nullptr) ran = scheduler_.poll_one(ignored);
        } while (ran != 0 && rings_ != 0);
        if (ran == 0 && wait != nullptr) ran = scheduler_.wait_one(long_us, ignored) - rings_;
        return ran;
    }

    void interrupt() noexcept override { reactor_->interrupt(); }

    /// The owner calls this function before Asio's services are shut down.
    void end() noexcept { alarm_.end(); }

private:
    static constexpr std::int64_t long_us = 1'000'000'000;

    /// The task that the scheduler runs instead of the reactor.
    class gate final : public scheduler_task {
    public:
        explicit gate(asio_events& of) noexcept : of_(of) {}
        void run(long usec, operations& ended) override { of_.look(usec, ended); }
        /// The scheduler calls this function when the scheduler has work for the thread that is in run(). The
        /// scheduler holds its own lock while it calls interrupt().
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

    /// An Asio executor that calls each function inside execute().
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

    /// An exact alarm for the last milliseconds of a wait. The alarm is needed because reactors wait in whole
    /// milliseconds. The alarm is a timer of Asio.
    class alarm {
    public:
        alarm(asio_own_context<Asio>& context, std::size_t& rings) : rings_(rings) {
            timer_.emplace(in_place{&context});
        }

        /// Returns how long the reactor may wait, in microseconds. -1 means that there is no limit.
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

    /// Does the work of the scheduler's task. The scheduler runs this task after all operations that had
    /// completed. `usec` is 0 if further operations have completed meanwhile.
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

    /// Makes the scheduler return as soon as the scheduler's task has returned. Normally, stop() interrupts
    /// the reactor. leave() suppresses this interrupt, because no thread waits in the reactor. If another
    /// thread adds an operation at this moment, leave() suppresses the interrupt of that thread, too. The
    /// scheduler finds the added operation when the scheduler runs again.
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
            // 1 tells Asio that only one thread runs the scheduler.
            return Asio::template make_service<scheduler>(context, 1, false, &task_of);
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
    // The state of the innermost run():
    event_wait* wait_ = nullptr;
    bool is_long_ = false;  // whether run() calls the scheduler's run(), which continues until leave()
    std::size_t rings_ = 0; // number of calls of the alarm's handler, including canceled waits
    unsigned depth_ = 0;
};

/// An empty class for versions of Asio in which the adapter cannot replace the scheduler's task.
template <class Asio>
    requires(!asio_has_events<Asio>)
class asio_events<Asio> final {
public:
    explicit asio_events(asio_own_context<Asio>&) noexcept {}
    void end() noexcept {}
};

} // namespace ekiden::inline EKIDEN_ABI::detail

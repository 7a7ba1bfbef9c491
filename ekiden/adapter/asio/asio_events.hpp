/// What Asio waits for, as events that a thread of our context runs: no thread of Asio's is needed.
///
/// Part: adapter. Used by: asio_context. Private. `Asio` is standalone_asio or boost_asio.
///
/// On an io_context the threads in its run() go to the system by way of a task of Asio's scheduler, which
/// stands in the scheduler's queue behind the operations that have ended. Here a thread of ours is in there,
/// for one operation at a time, and the task is our own: around the reactor's wait it goes through the
/// context's sleep. So whatever Asio calls is called while the thread is awake in its context, and what ends
/// there with a handler of the context's executor calls that in place.
#pragma once

#include <ekiden/execution/event_source.hpp>
#include <ekiden/sys/clock.hpp>

#include <chrono>
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
class asio_events final : public event_source, Asio::scheduler_task {
    using scheduler = typename Asio::scheduler;
    using scheduler_task = typename Asio::scheduler_task;
    using operations = typename Asio::scheduler_operations;

public:
    /// Throws what Asio throws if the system has no means left, and std::bad_alloc.
    explicit asio_events(asio_own_context<Asio>& context) : scheduler_(make(context, *this)), alarm_(context) {
        // Now, and not with the first socket: operations that need no reactor end in its queue, too.
        scheduler_.init_task();
        scheduler_.work_started(); // for ever, so that it never stops by itself
    }

    bool run_one(event_wait* wait) override {
        const bool is_nested = depth_ != 0;
        const inside here(*this, wait);
        typename Asio::error_code ignored;
        for (;;) {
            alarm_.has_rung = false;
            // In a handler: first what that has left to the end of the outer call.
            std::size_t ran = is_nested || wait == nullptr ? scheduler_.poll_one(ignored) : 0;
            if (ran == 0 && wait != nullptr) ran = scheduler_.wait_one(long_us, ignored);
            if (!alarm_.has_rung) return ran != 0;
            if (wait != nullptr) return false;
        }
    }

    void interrupt() noexcept override { reactor_->interrupt(); }

    /// Before Asio's services are shut down.
    void end() noexcept { alarm_.end(); }

private:
    static constexpr long long_us = 1'000'000;

    class inside {
    public:
        inside(asio_events& of, event_wait* wait) noexcept
            : of_(of), outer_(std::exchange(of.wait_, wait)) {
            ++of_.depth_;
        }
        ~inside() {
            --of_.depth_;
            of_.wait_ = outer_;
        }
        inside(const inside&) = delete;
        inside& operator=(const inside&) = delete;

    private:
        asio_events& of_;
        event_wait* const outer_;
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
        explicit alarm(asio_own_context<Asio>& context) { timer_.emplace(in_place{&context}); }

        /// How long the reactor may wait, in microseconds; -1: for ever.
        [[nodiscard]] long set(sys::clock::time_point until) {
            if (until == sys::clock::time_point::max()) return -1;
            const auto left = std::chrono::ceil<std::chrono::microseconds>(until - sys::clock::now());
            if (left.count() <= 0) return 0;
            if (left > std::chrono::milliseconds(2))
                return static_cast<long>(std::min<std::int64_t>(left.count() - 1000, long_us));
            if (until != set_for_) {
                timer_->expires_at(until);
                timer_->async_wait([this](const typename Asio::error_code&) { has_rung = true; });
                set_for_ = until;
            }
            return -1;
        }
        void end() noexcept { timer_.reset(); }

        bool has_rung = false;

    private:
        std::optional<typename Asio::template timer<in_place>> timer_;
        sys::clock::time_point set_for_ = sys::clock::time_point::max();
    };

    /// The task: behind all operations that have ended, when there may be time to wait.
    void run(long usec, operations& ended) override {
        event_wait* const wait = usec == 0 ? nullptr : wait_;
        sys::clock::time_point until = sys::clock::time_point::max();
        if (wait == nullptr || !wait->begin(until)) return reactor_->run(0, ended);
        struct end {
            event_wait& of;
            ~end() { of.end(); }
        } const at_last{*wait};
        reactor_->run(alarm_.set(until), ended);
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
        return &self;
    }

    scheduler& scheduler_;
    scheduler_task* reactor_ = nullptr;
    alarm alarm_;
    event_wait* wait_ = nullptr; // of the innermost run_one()
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

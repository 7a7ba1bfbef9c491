/// Timers. A timer calls a handler at a given time. The call can be canceled.
///
/// Part: timer. Used by: programs, steady_timer, system_timer. Modeled on basic_waitable_timer of the
/// Networking TS (N4771, 15) and of Asio. The comment of cancel() describes how cancel() differs from these
/// models. timer.md describes the protocol.
#pragma once

#include <ekiden/context/simulated.hpp>
#include <ekiden/execution/any_executor.hpp>
#include <ekiden/execution/associated_executor.hpp>
#include <ekiden/execution/async_result.hpp>
#include <ekiden/execution/detail/initiate.hpp>
#include <ekiden/execution/executor.hpp>
#include <ekiden/queue/recycler.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/parker.hpp>
#include <ekiden/timer/detail/timer_operation.hpp>
#include <ekiden/timer/detail/timer_service.hpp>
#include <ekiden/timer/detail/timer_state.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// A blocking wait of the calling thread. The wait sleeps in steps until a time or a limit is reached.
class timer_sleep {
public:
    /// Constructs a wait. `limit` must outlive the wait.
    explicit timer_sleep(const wait_limit& limit) noexcept
        : limit_(limit), on_stop_(limit.stop(), waker{&sleeper_}) {}
    timer_sleep(const timer_sleep&) = delete;
    timer_sleep& operator=(const timer_sleep&) = delete;

    /// Sleeps until `time` or until the limit is reached. If `is_trusted` is false, the clock may jump
    /// meanwhile, so the sleep may end early. Returns false if the limit is reached.
    [[nodiscard]] bool sleep_until(sys::clock::time_point time, bool is_trusted) noexcept;

private:
    struct waker {
        sys::parker* sleeper;
        void operator()() const noexcept { sleeper->unpark(); }
    };

    const wait_limit& limit_;
    sys::parker sleeper_;
    const std::stop_callback<waker> on_stop_; // its destructor waits until no callback runs
};

/// Returns now + distance. If this sum overflows, returns the largest or the smallest time point.
template <class Clock>
[[nodiscard]] typename Clock::time_point later(typename Clock::time_point now,
                                               typename Clock::duration distance) noexcept {
    using time_point = typename Clock::time_point;
    using rep = typename Clock::rep;
    if constexpr (std::integral<rep>) {
        rep sum{};
        if (sys::add_overflows(now.time_since_epoch().count(), distance.count(), sum))
            return distance.count() > 0 ? time_point::max() : time_point::min();
        return time_point(typename Clock::duration(sum));
    } else {
        return now + distance;
    }
}

} // namespace detail

/// A timer that calls handlers when `Clock` reaches the expiry of the timer.
///
/// The associated executor of a handler calls the handler. If the handler has no associated executor, the
/// timer's executor calls it. A handler is never called inside async_wait() or cancel(). The handlers of one
/// timer are posted in the order in which their waits began. If the expiry has already passed, a wait posts
/// its handler immediately. A loop_context is an exception, because a loop checks its timers itself. The loop
/// queues the handler at its next check of the timers. This handler runs after the tasks that are already
/// queued, and after the handlers of timers that expired earlier.
///
/// Until the handler begins, a pending wait counts as work of the timer's context and of the handler's
/// context. A context that ends destroys waiting and queued handlers without calling them. A handler may
/// destroy the timer.
///
/// `Clock::now()` must not throw. Any clock except std::chrono::steady_clock may jump, because a program can
/// set the clock. So the context reads the clock every tenth of a second while a wait is pending.
///
/// Thread safety: only one thread at a time may use a timer, except for cancel(), cancel_one() and
/// cancel_and_wait(). Any thread may call these three functions at any time, including a handler of the
/// timer.
/// Lifetime: a timer without pending waits may outlive its context. After the end of the context, the program
/// may only destroy the timer. In the child process of a fork(), the waits of the parent process never end
/// and cannot be canceled. A new wait in the child process throws.
template <class Clock, executor Executor = any_executor>
class basic_waitable_timer {
public:
    using executor_type = Executor;
    using clock_type = Clock;
    using duration = typename Clock::duration;
    using time_point = typename Clock::time_point;

    template <executor Other>
    struct rebind_executor {
        using other = basic_waitable_timer<Clock, Other>;
    };

    /// Constructs a timer with the executor `where`. Without an argument for the expiry, the expiry is the
    /// epoch of the clock.
    explicit basic_waitable_timer(const Executor& where) : executor_(where) {}
    basic_waitable_timer(const Executor& where, const time_point& expiry)
        : executor_(where), expiry_(expiry) {}
    basic_waitable_timer(const Executor& where, const duration& distance)
        : executor_(where), expiry_(after(distance)) {}

    /// Constructs a timer with the executor of `context`.
    template <std::derived_from<execution_context> Context>
    explicit basic_waitable_timer(Context& context) : executor_(context.get_executor()) {}
    template <std::derived_from<execution_context> Context>
    basic_waitable_timer(Context& context, const time_point& expiry)
        : executor_(context.get_executor()), expiry_(expiry) {}
    template <std::derived_from<execution_context> Context>
    basic_waitable_timer(Context& context, const duration& distance)
        : executor_(context.get_executor()), expiry_(after(distance)) {}

    /// Moves the waits and handlers of `other` to this timer. `other` keeps its executor and its expiry, and
    /// has no waits afterwards.
    basic_waitable_timer(basic_waitable_timer&& other) noexcept
        : executor_(other.executor_), expiry_(other.expiry_),
          state_(other.state_.exchange(nullptr, sys::relaxed)) {}
    /// Calls cancel(). Then moves the waits and handlers like the move constructor.
    basic_waitable_timer& operator=(basic_waitable_timer&& other) noexcept {
        if (this == &other) return *this;
        leave();
        executor_ = other.executor_;
        expiry_ = other.expiry_;
        state_.store(other.state_.exchange(nullptr, sys::relaxed), sys::relaxed);
        return *this;
    }
    /// Calls cancel(). Running handlers continue.
    ~basic_waitable_timer() { leave(); }

    /// Returns the current time for timers in the calling thread. This is the time of the clock, or the
    /// virtual time in a simulation. Use this time to compute an argument for expires_at().
    [[nodiscard]] static time_point now() noexcept { return now_here<Clock>(); }

    [[nodiscard]] executor_type get_executor() const noexcept { return executor_; }
    /// Returns the time at which the timer expires or has expired.
    [[nodiscard]] time_point expiry() const noexcept { return expiry_; }

    /// Calls cancel(), because a pending wait cannot change its expiry. Sets the expiry afterwards. Returns
    /// the result of cancel().
    std::size_t expires_at(const time_point& expiry) noexcept {
        const std::size_t canceled = cancel();
        expiry_ = expiry;
        return canceled;
    }
    /// Sets the expiry to now() plus `distance`, like expires_at().
    std::size_t expires_after(const duration& distance) noexcept { return expires_at(after(distance)); }

    /// Cancels all handlers that have not begun, and returns the number of these handlers. A canceled handler
    /// is called with std::errc::operation_canceled. cancel() can cancel a handler whose expiry has passed,
    /// and a handler that is already queued. The returned number is exact, even if other threads use the
    /// timer. A counted handler never reports success. A handler that is not counted has already begun.
    /// Acquires no lock if no wait is pending.
    std::size_t cancel() noexcept {
        timer_state* const state = known_state();
        return state != nullptr ? state->cancel() : 0;
    }
    /// Cancels like cancel(), but only the oldest wait. Returns 1 if a wait was canceled, and 0 otherwise.
    std::size_t cancel_one() noexcept {
        timer_state* const state = known_state();
        return state != nullptr ? state->cancel_one() : 0;
    }
    /// Cancels like cancel(), and returns when no handler of this timer runs. A running handler may begin
    /// another wait. cancel_and_wait() also cancels and counts the waits that running handlers begin, so no
    /// wait is left that could succeed. Everything that the completed handlers have done happens before the
    /// return. cancel_and_wait() does not wait for canceled handlers. Canceled handlers report
    /// operation_canceled later, and should not begin another wait. If a handler of this timer calls
    /// cancel_and_wait(), the call does not wait, because the handler would wait for itself. There is no
    /// overload with a time limit, because the function waits only for running handlers.
    std::size_t cancel_and_wait() noexcept {
        timer_state* const state = known_state();
        return state != nullptr ? state->cancel_and_wait() : 0;
    }

    /// Blocks the thread until the clock reaches the expiry. cancel() does not end this wait.
    void wait() const { (void)wait(wait_limit()); }
    /// Waits like wait(), but gives up when `limit` is reached. Returns whether the timer has expired. A wait
    /// that gives up has no effect on the timer.
    [[nodiscard]] bool wait(const wait_limit& limit) const {
        if (now() >= expiry_) return true;
        detail::timer_sleep asleep(limit);
        while (asleep.sleep_until(ekiden::deadline_here(expiry_), sys::is_own_clock<Clock>)) {
            if (now() >= expiry_) return true;
        }
        return now() >= expiry_;
    }
    /// Waits like wait(), but gives up when a stop is requested. Returns whether the timer has expired.
    [[nodiscard]] bool wait(std::stop_token token) const { return wait(wait_limit(std::move(token))); }
    /// Waits like wait(), but gives up after the duration `length`. Returns whether the timer has expired.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period>& length) const {
        return wait(wait_limit::after(length));
    }
    /// Waits like wait(), but at most until `deadline`. Returns whether the timer has expired.
    template <class Other, class Duration>
    [[nodiscard]] bool wait_until(const std::chrono::time_point<Other, Duration>& deadline) const {
        return wait(wait_limit::until(deadline));
    }

    /// Calls the handler of `token` when the clock reaches the expiry. The handler's signature is
    /// void(std::error_code). If the wait is canceled, calls the handler with std::errc::operation_canceled.
    /// The token determines the return value of async_wait(). The memory of the wait comes from the handler's
    /// associated allocator. The memory is freed before the handler is called.
    ///
    /// If the context has shut down, the handler is destroyed without a call. The handler is also destroyed
    /// if the timer passes it to the handler's executor and the executor throws. The exception of the
    /// executor is reported like the exception of a posted function.
    ///
    /// Throws std::bad_alloc, and whatever copying or moving the handler throws. Throws std::system_error if
    /// a thread is needed and the system refuses to start a thread. Also throws std::system_error in the
    /// child process of a fork(). If async_wait() throws, it has started no wait.
    template <class Token>
    decltype(auto) async_wait(Token&& token) {
        return ekiden::async_initiate<Token, void(std::error_code)>(
            [this]<class Handler>(Handler&& handler) { this->start(std::forward<Handler>(handler)); },
            std::forward<Token>(token));
    }

private:
    [[nodiscard]] static time_point after(const duration& distance) noexcept {
        return detail::later<Clock>(now(), distance);
    }

    template <class H>
    void start(H&& handler) {
        using handler_type = std::decay_t<H>;
        using handler_executor = associated_executor_t<handler_type, Executor>;
        if constexpr (detail::has_own_executor<handler_type>) {
            const handler_executor where(ekiden::get_associated_executor(handler, executor_));
            bool is_same = false;
            if constexpr (std::same_as<handler_executor, Executor>) is_same = where == executor_;
            if (!is_same) return start_as<handler_executor, Executor>(std::forward<H>(handler), where);
        }
        if constexpr (std::same_as<handler_executor, Executor>)
            start_as<Executor, detail::no_other_executor>(std::forward<H>(handler), executor_);
    }

    template <class HandlerExecutor, class Other, class H>
    void start_as(H&& handler, const HandlerExecutor& where) {
        using operation = detail::timer_operation<std::decay_t<H>, HandlerExecutor, Other>;
        timer_state& state = own_state();
        operation* const fresh = operation::make(std::forward<H>(handler), where, executor_);
        try {
            state.add(*fresh, timer_service<Clock>::count(expiry_));
        } catch (...) {
            fresh->end();
            throw;
        }
    }

    [[nodiscard]] timer_state* known_state() const noexcept {
        // [TM1] Acquire: makes the state visible. Pairs with the release in own_state() of another thread.
        return state_.load(sys::acquire);
    }
    [[nodiscard]] timer_state& own_state() {
        timer_state* known = state_.load(sys::relaxed);
        if (known == nullptr) {
            timer_queue& queue = ekiden::use_service<timer_service<Clock>>(executor_.context()).queue();
            if (!queue.driver().is_rung_by_context())
                refuse_in_simulation("a timer of a context that runs for real: give it a sim_context");
            known = recycler::create<timer_state>(queue);
            state_.store(known, sys::release); // [TM1] Release: publishes the state for known_state()
        }
        return *known;
    }

    void leave() noexcept {
        if (timer_state* const state = state_.load(sys::relaxed)) state->leave();
    }

    Executor executor_;
    time_point expiry_{};
    sys::atomic<timer_state*> state_{nullptr};
};

} // namespace ekiden::inline EKIDEN_ABI

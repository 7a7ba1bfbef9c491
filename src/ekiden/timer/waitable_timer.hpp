/// Timers: have a handler called at a given time, or take that back.
///
/// Part: timer. Used by: programs, through steady_timer and system_timer. After basic_waitable_timer of the
/// Networking TS (N4771, 15) and of Asio; what differs is said at cancel(). The protocol: timer.md.
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

/// A wait of the calling thread that sleeps in steps, and that a limit ends.
class timer_sleep {
public:
    /// `limit` outlives the object.
    explicit timer_sleep(const wait_limit& limit) noexcept
        : limit_(limit), on_stop_(limit.stop(), waker{&sleeper_}) {}
    timer_sleep(const timer_sleep&) = delete;
    timer_sleep& operator=(const timer_sleep&) = delete;

    /// Sleeps until `time` or until the limit is reached. Returns early if the clock may be set
    /// (`is_trusted` is false). Returns false if the limit is reached.
    [[nodiscard]] bool sleep_until(sys::clock::time_point time, bool is_trusted) noexcept;

private:
    struct waker {
        sys::parker* sleeper;
        void operator()() const noexcept { sleeper->unpark(); }
    };

    const wait_limit& limit_;
    sys::parker sleeper_;
    const std::stop_callback<waker> on_stop_; // its end waits for a call under way
};

/// now + distance, or the end of time in that direction.
template <class Clock>
[[nodiscard]] typename Clock::time_point later(typename Clock::time_point now,
                                               typename Clock::duration distance) noexcept {
    using time_point = typename Clock::time_point;
    using rep = typename Clock::rep;
    if constexpr (std::integral<rep>) {
        rep sum{};
        if (__builtin_add_overflow(now.time_since_epoch().count(), distance.count(), &sum))
            return distance.count() > 0 ? time_point::max() : time_point::min();
        return time_point(typename Clock::duration(sum));
    } else {
        return now + distance;
    }
}

} // namespace detail

/// Has handlers called when `Clock` shows its expiry. One thread at a time uses a timer, but any thread may
/// call cancel(), cancel_one() and cancel_and_wait() at any time, its own handlers too. A handler may end the
/// timer. Handlers are called by the executor that they are associated with, else by the timer's, never
/// before the function returns that starts or cancels their wait; those of one timer are posted in the order
/// in which their waits began. A wait for a time that has passed already ends at once: it is posted, or, in a
/// context that drives its timers itself (a loop), at the next look of that, behind what is queued now and
/// what has expired before. Both
/// contexts have work until the handler begins. A context that ends destroys the handlers that wait or are
/// queued without calling them. A timer on which nobody waits is known to no context: it may outlive its own,
/// if it is only ended then.
///
/// `Clock::now()` must not throw. Of a clock other than std::chrono::steady_clock, which may be set, it is
/// asked every tenth of a second while somebody waits.
///
/// In the child of a fork() the waits of the parent never end, and nobody cancels them; a new wait throws.
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

    /// For handlers on `where`. The expiry is the clock's epoch, or as given.
    explicit basic_waitable_timer(const Executor& where) : executor_(where) {}
    basic_waitable_timer(const Executor& where, const time_point& expiry)
        : executor_(where), expiry_(expiry) {}
    basic_waitable_timer(const Executor& where, const duration& distance)
        : executor_(where), expiry_(after(distance)) {}

    /// The same with the executor of `context`.
    template <std::derived_from<execution_context> Context>
    explicit basic_waitable_timer(Context& context) : executor_(context.get_executor()) {}
    template <std::derived_from<execution_context> Context>
    basic_waitable_timer(Context& context, const time_point& expiry)
        : executor_(context.get_executor()), expiry_(expiry) {}
    template <std::derived_from<execution_context> Context>
    basic_waitable_timer(Context& context, const duration& distance)
        : executor_(context.get_executor()), expiry_(after(distance)) {}

    /// `other` is as new then, with its executor and expiry. Its waits and handlers are this timer's.
    basic_waitable_timer(basic_waitable_timer&& other) noexcept
        : executor_(other.executor_), expiry_(other.expiry_),
          state_(other.state_.exchange(nullptr, sys::relaxed)) {}
    /// As cancel() before.
    basic_waitable_timer& operator=(basic_waitable_timer&& other) noexcept {
        if (this == &other) return *this;
        leave();
        executor_ = other.executor_;
        expiry_ = other.expiry_;
        state_.store(other.state_.exchange(nullptr, sys::relaxed), sys::relaxed);
        return *this;
    }
    /// As cancel(). Handlers that run go on.
    ~basic_waitable_timer() { leave(); }

    /// Now, as the timers of the calling thread see it: what the clock shows, or in a simulation its virtual
    /// time. What is given to expires_at() is counted from it.
    [[nodiscard]] static time_point now() noexcept { return now_here<Clock>(); }

    [[nodiscard]] executor_type get_executor() const noexcept { return executor_; }
    /// When it expires, or has expired.
    [[nodiscard]] time_point expiry() const noexcept { return expiry_; }

    /// Sets the expiry. First as cancel(), whose result it returns: each wait is for one expiry.
    std::size_t expires_at(const time_point& expiry) noexcept {
        const std::size_t canceled = cancel();
        expiry_ = expiry;
        return canceled;
    }
    /// `distance` from now.
    std::size_t expires_after(const duration& distance) noexcept { return expires_at(after(distance)); }

    /// Has all handlers that have not begun report std::errc::operation_canceled, and returns how many: those
    /// whose time has not come, and also those that have expired and are queued. That holds always, however
    /// many threads there are: a handler that this call has counted never reports success, and one that it
    /// has not counted had begun. Takes no lock if nobody waits.
    std::size_t cancel() noexcept {
        timer_state* const state = known_state();
        return state != nullptr ? state->cancel() : 0;
    }
    /// The same for the wait that began first.
    std::size_t cancel_one() noexcept {
        timer_state* const state = known_state();
        return state != nullptr ? state->cancel_one() : 0;
    }
    /// As cancel(), and returns at a moment when no handler of this timer runs. Also cancels, and counts,
    /// waits that a running handler begins meanwhile, so none is left that would succeed. What the handlers
    /// have done is visible then. Those that were canceled are not waited for: they report
    /// operation_canceled later, and should not begin another wait. Called inside a handler of this timer, by
    /// its thread, it does not wait at all: it would wait for itself.
    /// It takes no limit, because it waits only for a handler that runs.
    std::size_t cancel_and_wait() noexcept {
        timer_state* const state = known_state();
        return state != nullptr ? state->cancel_and_wait() : 0;
    }

    /// Blocks the thread until the clock shows the expiry. cancel() does not end this wait.
    void wait() const { (void)wait(wait_limit()); }
    /// As wait(), but gives up when `limit` is reached. Returns true if the timer has expired. A wait that
    /// gives up has no effect on the timer.
    [[nodiscard]] bool wait(const wait_limit& limit) const {
        if (now() >= expiry_) return true;
        detail::timer_sleep asleep(limit);
        while (asleep.sleep_until(deadline_here(expiry_), sys::is_own_clock<Clock>)) {
            if (now() >= expiry_) return true;
        }
        return now() >= expiry_;
    }
    /// As wait(), but gives up at a stop request. Returns true if the timer has expired.
    [[nodiscard]] bool wait(std::stop_token token) const { return wait(wait_limit(std::move(token))); }
    /// As wait(), but gives up after `length`. Returns true if the timer has expired.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period>& length) const {
        return wait(wait_limit::after(length));
    }
    /// As wait(), but gives up at `deadline`. Returns true if the timer has expired.
    template <class Other, class Duration>
    [[nodiscard]] bool wait_until(const std::chrono::time_point<Other, Duration>& deadline) const {
        return wait(wait_limit::until(deadline));
    }

    /// Calls the handler of `token`, void(std::error_code), when the clock has shown the expiry, or when the
    /// wait has been canceled: then with std::errc::operation_canceled. Returns what the token wants. The
    /// memory comes from the handler's associated allocator and is given back before the call. Throws
    /// std::bad_alloc, what copying or moving the handler throws, and std::system_error if a thread is needed
    /// and the system gives none, or in the child of a fork(); then nothing waits. If the context has shut
    /// down, the handler is destroyed. If the handler's executor throws when the timer gives it the handler,
    /// the handler is destroyed, too, and that executor reports the exception as one of a function.
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
        // [TM1] acquire: the state; pairs with the release in own_state(), of another thread.
        return state_.load(sys::acquire);
    }
    [[nodiscard]] timer_state& own_state() {
        timer_state* known = state_.load(sys::relaxed);
        if (known == nullptr) {
            timer_queue& queue = use_service<timer_service<Clock>>(executor_.context()).queue();
            if (!queue.driver().is_rung_by_context())
                refuse_in_simulation("a timer of a context that runs for real: give it a sim_context");
            known = recycler::create<timer_state>(queue);
            state_.store(known, sys::release); // [TM1] the state
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

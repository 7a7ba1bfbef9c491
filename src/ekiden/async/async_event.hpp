/// Events, latches and barriers that a coroutine waits for without blocking its thread.
///
/// Part: async. Used by: programs. The rules of all awaited operations: locks.md.
#pragma once

#include <ekiden/async/detail/lock_awaiter.hpp>
#include <ekiden/sync/barrier.hpp>
#include <ekiden/sync/detail/lock_access.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/latch.hpp>
#include <ekiden/sync/wait_limit.hpp>

#include <concepts>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// Waits for a state and does not change it.
class pass_operation : public lock_operation {
public:
    static constexpr bool is_pure = true;
    static constexpr const char* canceled = "async_wait: the wait was stopped";

    pass_operation(state_lock& where, state_lock::mask wanted) noexcept : lock_operation{where, wanted} {}
    [[nodiscard]] bool try_now() const noexcept { return lock.is_in(states); }
    static state_value change(state_value now) noexcept { return now; }
    static void give_back() noexcept {}
    static void granted() noexcept {}
};

/// Waits until the round of an arrival at a barrier is complete.
template <class Barrier>
class round_operation : public pass_operation {
public:
    using token = typename Barrier::arrival_token;

    round_operation(const Barrier& b, token t) noexcept
        : pass_operation(lock_access::core(b), lock_access::after<Barrier>(t)) {}
};

/// Arrives at a barrier, and waits until the round is complete.
template <class Barrier>
class arrive_operation : public pass_operation {
public:
    explicit arrive_operation(Barrier& b) noexcept : pass_operation(lock_access::core(b), 0), barrier_(b) {}
    void begin() { states = lock_access::after<Barrier>(barrier_.arrive()); }

private:
    Barrier& barrier_;
};

/// event, latch.
template <class Event>
concept awaited_event = std::same_as<Event, event> || std::same_as<Event, latch>;

} // namespace detail

// ---- events and latches

/// `co_await async_wait(e)`: waits until the event is set, or the latch has been counted down. Throws
/// operation_canceled if the coroutine's stop is requested first.
template <detail::awaited_event Event>
[[nodiscard]] auto async_wait(const Event& e) noexcept {
    return detail::lock_awaiter<detail::pass_operation>(detail::lock_access::core(e), event::is_one);
}
/// `const bool is_set = co_await async_wait(e, limit)`: returns true if the event is set or the latch has
/// been counted down, and false if `limit` was reached or the coroutine's stop was requested first. Throws
/// like async_lock(m, limit).
template <detail::awaited_event Event>
[[nodiscard]] auto async_wait(const Event& e, const wait_limit& limit) noexcept {
    return detail::limited_awaiter<detail::pass_operation>(limit, detail::lock_access::core(e),
                                                           event::is_one);
}
/// The same with a duration from the call as the limit.
template <detail::awaited_event Event>
[[nodiscard]] auto async_wait_for(const Event& e, const wait_duration& duration) {
    return async_wait(e, duration);
}
/// The same with a time point as the limit. The distance from now counts for clocks other than the library's.
template <detail::awaited_event Event>
[[nodiscard]] auto async_wait_until(const Event& e, const wait_deadline& time) {
    return async_wait(e, time);
}

// ---- barriers

/// `co_await async_wait(b, token)`: waits until the round of an arrival is complete. Throws
/// operation_canceled if the coroutine's stop is requested first; the arrival counts nevertheless.
template <class Completion>
[[nodiscard]] auto async_wait(const barrier<Completion>& b,
                              typename barrier<Completion>::arrival_token token) noexcept {
    return detail::lock_awaiter<detail::round_operation<barrier<Completion>>>(b, token);
}
/// `const bool is_over = co_await async_wait(b, token, limit)`: returns true if the round is complete, and
/// false if `limit` was reached or the coroutine's stop was requested first; the arrival counts nevertheless.
/// Throws like async_lock(m, limit).
template <class Completion>
[[nodiscard]] auto async_wait(const barrier<Completion>& b, typename barrier<Completion>::arrival_token token,
                              const wait_limit& limit) noexcept {
    return detail::limited_awaiter<detail::round_operation<barrier<Completion>>>(limit, b, token);
}
/// The same with a duration from the call as the limit.
template <class Completion>
[[nodiscard]] auto async_wait_for(const barrier<Completion>& b,
                                  typename barrier<Completion>::arrival_token token,
                                  const wait_duration& duration) {
    return async_wait(b, token, duration);
}
/// The same with a time point as the limit. The distance from now counts for clocks other than the library's.
template <class Completion>
[[nodiscard]] auto async_wait_until(const barrier<Completion>& b,
                                    typename barrier<Completion>::arrival_token token,
                                    const wait_deadline& time) {
    return async_wait(b, token, time);
}

/// `co_await async_arrive_and_wait(b)`: arrives when it is awaited, and waits until the round is complete.
/// It arrives also after a stop, because other threads wait for it. Throws operation_canceled if the
/// coroutine's stop is requested first; the arrival counts nevertheless.
template <class Completion>
[[nodiscard]] auto async_arrive_and_wait(barrier<Completion>& b) noexcept {
    return detail::lock_awaiter<detail::arrive_operation<barrier<Completion>>>(b);
}
/// `const bool is_over = co_await async_arrive_and_wait(b, limit)`: returns true if the round is complete,
/// and false if `limit` was reached or the coroutine's stop was requested first; the arrival counts
/// nevertheless. Throws like async_lock(m, limit).
template <class Completion>
[[nodiscard]] auto async_arrive_and_wait(barrier<Completion>& b, const wait_limit& limit) noexcept {
    return detail::limited_awaiter<detail::arrive_operation<barrier<Completion>>>(limit, b);
}
/// The same with a duration from the call as the limit.
template <class Completion>
[[nodiscard]] auto async_arrive_and_wait_for(barrier<Completion>& b, const wait_duration& duration) {
    return async_arrive_and_wait(b, duration);
}
/// The same with a time point as the limit. The distance from now counts for clocks other than the library's.
template <class Completion>
[[nodiscard]] auto async_arrive_and_wait_until(barrier<Completion>& b, const wait_deadline& time) {
    return async_arrive_and_wait(b, time);
}

} // namespace ekiden::inline EKIDEN_ABI

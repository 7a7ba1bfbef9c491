/// Events, latches and barriers that a coroutine waits for without blocking its thread.
///
/// Part: async. Used by: programs. The page locks.md has the rules of all awaited operations.
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

/// An operation that waits for a state of a lock and does not change this state.
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

/// An operation that waits until a round of a barrier is complete. The token of an arrival identifies the
/// round.
template <class Barrier>
class round_operation : public pass_operation {
public:
    using token = typename Barrier::arrival_token;

    round_operation(const Barrier& b, token t) noexcept
        : pass_operation(lock_access::core(b), lock_access::after<Barrier>(t)) {}
};

/// An operation that arrives at a barrier and waits until the round is complete.
template <class Barrier>
class arrive_operation : public pass_operation {
public:
    explicit arrive_operation(Barrier& b) noexcept : pass_operation(lock_access::core(b), 0), barrier_(b) {}
    void begin() { states = lock_access::after<Barrier>(barrier_.arrive()); }

private:
    Barrier& barrier_;
};

/// True for event and latch.
template <class Event>
concept awaited_event = std::same_as<Event, event> || std::same_as<Event, latch>;

} // namespace detail

// ---- events, latches

/// `co_await async_wait(e)`: waits until the event is set, or until the latch has been counted down. Throws
/// operation_canceled if a stop of the coroutine has ended the wait.
template <detail::awaited_event Event>
[[nodiscard]] auto async_wait(const Event& e) noexcept {
    return detail::lock_awaiter<detail::pass_operation>(detail::lock_access::core(e), event::is_one);
}
/// `const bool is_set = co_await async_wait(e, limit)`: waits like async_wait(e), but until `limit` at most.
/// Returns true if the event is set, or if the latch has been counted down. Returns false if `limit` or a
/// stop of the coroutine has ended the wait. Throws the same exceptions as async_lock(m, limit).
template <detail::awaited_event Event>
[[nodiscard]] auto async_wait(const Event& e, const wait_limit& limit) noexcept {
    return detail::limited_awaiter<detail::pass_operation>(limit, detail::lock_access::core(e),
                                                           event::is_one);
}
/// Waits like async_wait(e, limit). The limit is the time of the call plus `duration`.
template <detail::awaited_event Event>
[[nodiscard]] auto async_wait_for(const Event& e, const wait_duration& duration) {
    return ekiden::async_wait(e, duration);
}
/// Waits like async_wait(e, limit). The limit is the time point `time`, which is converted to the steady
/// clock when the wait begins.
template <detail::awaited_event Event>
[[nodiscard]] auto async_wait_until(const Event& e, const wait_deadline& time) {
    return ekiden::async_wait(e, time);
}

// ---- barriers

/// `co_await async_wait(b, token)`: waits until a round of the barrier is complete. `token` is the value that
/// arrive() returned in the awaited round. Throws operation_canceled if the coroutine is stopped before the
/// round is complete. A stop does not undo the arrival.
template <class Completion>
[[nodiscard]] auto async_wait(const barrier<Completion>& b,
                              typename barrier<Completion>::arrival_token token) noexcept {
    return detail::lock_awaiter<detail::round_operation<barrier<Completion>>>(b, token);
}
/// `const bool is_over = co_await async_wait(b, token, limit)`: waits like async_wait(b, token), but until
/// `limit` at most. Returns true if the round is complete. Returns false if `limit` or a stop of the
/// coroutine has ended the wait. The arrival counts even if the result is false. Throws the same exceptions
/// as async_lock(m, limit).
template <class Completion>
[[nodiscard]] auto async_wait(const barrier<Completion>& b, typename barrier<Completion>::arrival_token token,
                              const wait_limit& limit) noexcept {
    return detail::limited_awaiter<detail::round_operation<barrier<Completion>>>(limit, b, token);
}
/// Waits like async_wait(b, token, limit). The limit is the time of the call plus `duration`.
template <class Completion>
[[nodiscard]] auto async_wait_for(const barrier<Completion>& b,
                                  typename barrier<Completion>::arrival_token token,
                                  const wait_duration& duration) {
    return ekiden::async_wait(b, token, duration);
}
/// Waits like async_wait(b, token, limit). The limit is the time point `time`, which is converted to the
/// steady clock when the wait begins.
template <class Completion>
[[nodiscard]] auto async_wait_until(const barrier<Completion>& b,
                                    typename barrier<Completion>::arrival_token token,
                                    const wait_deadline& time) {
    return ekiden::async_wait(b, token, time);
}

/// `co_await async_arrive_and_wait(b)`: arrives at the barrier, and waits until the round is complete. The
/// arrival takes place at the co_await, even if the coroutine has been stopped before, because other threads
/// wait for this arrival. Throws operation_canceled if the coroutine is stopped before the round is complete.
/// A stop does not undo the arrival.
template <class Completion>
[[nodiscard]] auto async_arrive_and_wait(barrier<Completion>& b) noexcept {
    return detail::lock_awaiter<detail::arrive_operation<barrier<Completion>>>(b);
}
/// `const bool is_over = co_await async_arrive_and_wait(b, limit)`: arrives and waits like
/// async_arrive_and_wait(b), but waits until `limit` at most. Returns true if the round is complete. Returns
/// false if `limit` or a stop of the coroutine has ended the wait. The arrival counts even if the result is
/// false. Throws the same exceptions as async_lock(m, limit).
template <class Completion>
[[nodiscard]] auto async_arrive_and_wait(barrier<Completion>& b, const wait_limit& limit) noexcept {
    return detail::limited_awaiter<detail::arrive_operation<barrier<Completion>>>(limit, b);
}
/// Arrives and waits like async_arrive_and_wait(b, limit). The limit is the time of the call plus `duration`.
template <class Completion>
[[nodiscard]] auto async_arrive_and_wait_for(barrier<Completion>& b, const wait_duration& duration) {
    return ekiden::async_arrive_and_wait(b, duration);
}
/// Arrives and waits like async_arrive_and_wait(b, limit). The limit is the time point `time`, which is
/// converted to the steady clock when the wait begins.
template <class Completion>
[[nodiscard]] auto async_arrive_and_wait_until(barrier<Completion>& b, const wait_deadline& time) {
    return ekiden::async_arrive_and_wait(b, time);
}

} // namespace ekiden::inline EKIDEN_ABI

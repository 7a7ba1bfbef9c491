/// Waiting for an event, a latch or a barrier in a coroutine.
///
/// Part: async. Used by: users. What holds of all awaited locks: locks.md.
#pragma once

#include <ekiden/async/lock_awaiter.hpp>
#include <ekiden/sync/barrier.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/latch.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// Waits for a state, and leaves it as it is.
class pass_operation {
public:
    static constexpr bool is_pure = true;

    pass_operation(state_lock& lock, state_lock::mask states) noexcept : lock_(lock), states_(states) {}
    [[nodiscard]] state_lock& core() const noexcept { return lock_; }
    [[nodiscard]] state_lock::mask states() const noexcept { return states_; }
    [[nodiscard]] bool try_now() const noexcept { return lock_.is_in(states_); }
    static state_value change(state_value now) noexcept { return now; }
    static void give_back() noexcept {}
    [[nodiscard]] static bool result(wait_result r) noexcept { return r == wait_result::done; }

protected:
    state_lock& lock_;
    state_lock::mask states_;
};

template <class Barrier>
class arrive_operation : public pass_operation {
public:
    explicit arrive_operation(Barrier& b) noexcept : pass_operation(b.core(), 0), barrier_(b) {}
    void begin() { states_ = Barrier::after(barrier_.arrive()); }

private:
    Barrier& barrier_;
};

} // namespace detail

/// `co_await async_wait(e)`: until the event is set, or the latch has been counted down. False: a stop was
/// requested first.
[[nodiscard]] inline auto async_wait(const event& e) noexcept {
    return detail::lock_awaiter<detail::pass_operation>(e.core(), event::is_one);
}
[[nodiscard]] inline auto async_wait(const latch& l) noexcept {
    return detail::lock_awaiter<detail::pass_operation>(l.core(), event::is_one);
}

/// `co_await async_wait(b, token)`: until the round of an arrival is complete. False: a stop was requested
/// first; the arrival counts in any case.
template <class Completion>
[[nodiscard]] auto async_wait(const barrier<Completion>& b,
                              typename barrier<Completion>::arrival_token token) noexcept {
    return detail::lock_awaiter<detail::pass_operation>(b.core(), barrier<Completion>::after(token));
}
/// `co_await async_arrive_and_wait(b)`: arrives when it is awaited, also after a stop, since the others wait
/// for it; then as async_wait.
template <class Completion>
[[nodiscard]] auto async_arrive_and_wait(barrier<Completion>& b) noexcept {
    return detail::lock_awaiter<detail::arrive_operation<barrier<Completion>>>(b);
}

} // namespace ekiden::inline EKIDEN_ABI

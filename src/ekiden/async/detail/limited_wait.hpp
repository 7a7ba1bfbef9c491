/// A coroutine's wait on a state_lock that also ends at a limit of its own: a stop token, a deadline, or
/// both.
///
/// Part: async. Used by: lock_awaiter, for the forms of awaited operations that have a limit. Private. The
/// protocol: locks.md.
#pragma once

#include <ekiden/async/detail/awaited_timer.hpp>
#include <ekiden/async/detail/lock_wait.hpp>
#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>

#include <cstdint>
#include <optional>
#include <stop_token>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// A lock_wait with up to three cancelers: the stop of the environment, the stop token of the limit, and the
/// timer. The first one that claims the wait takes the waiter out of the lock. The releaser competes with it
/// as in lock_wait. The coroutine waits until all three have let go of the frame before it continues.
class limited_wait : public lock_wait, private awaited_timer {
public:
    using lock_wait::comes_home;
    static constexpr bool is_limited = true;

protected:
    explicit limited_wait(wait_limit limit) noexcept
        : lock_wait(&environment_stopped), limit_(std::move(limit)) {}
    ~limited_wait() = default; // after end()

    /// Like lock_wait::end().
    [[nodiscard]] bool end() noexcept {
        leave_limit(true);
        return lock_wait::end();
    }
    /// Like lock_wait::wait(). Throws std::bad_alloc, and std::system_error if the context needs a thread for
    /// its timers and the system gives none; then the wait has not begun.
    [[nodiscard]] bool wait(const request& wanted);
    /// Like lock_wait::collect().
    [[nodiscard]] wait_result collect() noexcept;

private:
    struct token_stop {
        limited_wait* own;
        void operator()() const noexcept { own->give_up(by_token); }
    };

    // parts_: [AW3] and [AW4]
    static constexpr std::uint8_t by_stop = 1; // claimed by the stop of the environment
    static constexpr std::uint8_t by_token = 2;
    static constexpr std::uint8_t by_time = 4;
    static constexpr std::uint8_t claims = by_stop | by_token | by_time;
    static constexpr std::uint8_t is_open = 8;         // the waiter is on its way into the lock
    static constexpr std::uint8_t has_timer_left = 16; // the timer does not touch the frame any more
    static constexpr std::uint8_t is_ending = 32; // the frame is being destroyed: the timer posts nothing

    void leave_limit(bool ends) noexcept;
    [[nodiscard]] bool claim(std::uint8_t why) noexcept;
    void give_up(std::uint8_t why) noexcept;
    void timer_ended(timer_end how) noexcept override;
    static void environment_stopped(stop_node& self) noexcept;

    const wait_limit limit_;
    std::optional<std::stop_callback<token_stop>> on_token_;
    sys::atomic<std::uint8_t> parts_{0};
};

} // namespace ekiden::inline EKIDEN_ABI::detail

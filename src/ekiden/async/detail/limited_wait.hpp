/// A wait of a coroutine on a state_lock, with a limit. The limit is a stop token, a deadline, or both.
///
/// Part: async. Used by: lock_awaiter. This header is private. locks.md describes the protocol.
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

/// A lock_wait that up to three cancelers can end: the stop state of the environment, the stop token of the
/// limit, and the timer of the limit. The first canceler claims the wait, and removes the waiter from the
/// lock. This canceler and the thread that releases the lock compete for the waiter, as in lock_wait. The
/// coroutine continues only when no canceler accesses the frame any more.
class limited_wait : public lock_wait, private awaited_timer {
public:
    using lock_wait::comes_home;
    static constexpr bool is_limited = true;

protected:
    explicit limited_wait(wait_limit limit) noexcept
        : lock_wait(&environment_stopped), limit_(std::move(limit)) {}
    ~limited_wait() = default; // the derived class must call end() first

    /// Removes the registrations with the stop token and the timer. Then does the same as lock_wait::end().
    [[nodiscard]] bool end() noexcept {
        leave_limit(true);
        return lock_wait::end();
    }
    /// Waits like lock_wait::wait(). Throws std::bad_alloc. Throws std::system_error if the context needs a
    /// thread for its timers, and the system cannot create this thread. If wait() throws, the wait has not
    /// begun.
    [[nodiscard]] bool wait(const request& wanted);
    /// Does the same as lock_wait::collect(). In addition, the result says whether the stop token or the
    /// deadline of the limit has ended the wait.
    [[nodiscard]] wait_result collect() noexcept;

private:
    struct token_stop {
        limited_wait* own;
        void operator()() const noexcept { own->give_up(by_token); }
    };

    // [AW3] [AW4] The following constants are the bits of parts_.
    static constexpr std::uint8_t by_stop = 1; // the stop state of the environment has claimed the wait
    static constexpr std::uint8_t by_token = 2;
    static constexpr std::uint8_t by_time = 4;
    static constexpr std::uint8_t claims = by_stop | by_token | by_time;
    static constexpr std::uint8_t is_open = 8;         // the waiter is complete; cancelers may search for it
    static constexpr std::uint8_t has_timer_left = 16; // the timer no longer accesses the frame
    static constexpr std::uint8_t is_ending = 32;      // the frame is being destroyed, so do not post

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

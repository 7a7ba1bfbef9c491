/// A counting semaphore whose waits may be timed, stopped, or not a thread's.
///
/// Part: sync. Used by: users. A state_lock with the states "zero" and "some"; the releaser of a permit takes
/// it on behalf of the waiter, so permits go to waiters in the order of their arrival.
#pragma once

#include <ekiden/sync/state_lock.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/thread.hpp>

#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>

namespace ekiden::inline EKIDEN_ABI {

/// Like std::counting_semaphore, with waits that end at a stop request. Thread-safe. A release happens before
/// the acquire that gets its permit. Ready before any constructor runs if it has static storage.
template <std::ptrdiff_t Max = std::numeric_limits<std::ptrdiff_t>::max()>
class counting_semaphore {
    static_assert(Max >= 0, "counting_semaphore: the largest number of permits is negative");

public:
    /// The most permits that there may be: exactly `Max`.
    [[nodiscard]] static constexpr std::ptrdiff_t max() noexcept { return Max; }

    /// `permits` in [0, max()]; otherwise throws std::invalid_argument.
    constexpr explicit counting_semaphore(std::ptrdiff_t permits)
        : lock_({permits > 0 ? some : zero, 0}, rules), permits_(permits) {
        if (permits < 0 || permits > max())
            throw std::invalid_argument("counting_semaphore: permits is " + std::to_string(permits)
                                        + ", allowed is 0 to " + std::to_string(max()));
    }

    void acquire() noexcept { lock_.run(1U << some, take{permits_}); }
    /// False if `limit` was reached first: a time, or a stop request.
    [[nodiscard]] bool acquire(const wait_limit& limit) noexcept {
        return lock_.run(1U << some, take{permits_}, limit);
    }
    /// False if there is none at this moment.
    [[nodiscard]] bool try_acquire() noexcept {
        for (;;) {
            const attempt result = lock_.try_run(1U << some, take{permits_});
            if (result != attempt::busy) return result == attempt::done;
            sys::yield(); // somebody is inside, for a few steps
        }
    }
    template <class Rep, class Period>
    [[nodiscard]] bool try_acquire_for(const std::chrono::duration<Rep, Period>& duration) {
        return acquire(wait_limit::after(duration));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_acquire_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return acquire(wait_limit::until(deadline));
    }

    /// Adds `count` >= 0 permits; their sum stays at most max().
    void release(std::ptrdiff_t count = 1) noexcept {
        lock_.run(state_lock::any_state, [&](state_value now) noexcept {
            if (count < 0 || count > max() - permits_)
                sys::contract_broken(
                    "counting_semaphore::release: a negative count, or more permits than max()");
            permits_ += count;
            return count > 0 ? state_value{some, 0} : now;
        });
    }

    /// The lock inside, for waits that are not a thread's: start() with mask `is_some` and the transition
    /// take_one(), which runs inside.
    [[nodiscard]] state_lock& core() noexcept { return lock_; }
    [[nodiscard]] state_value take_one(state_value now) noexcept { return take{permits_}(now); }
    static constexpr state_lock::mask is_some = 2;

private:
    static constexpr state_rules rules{.name = "a semaphore"};
    static constexpr std::uint32_t zero = 0;
    static constexpr std::uint32_t some = 1;

    struct take {
        std::ptrdiff_t& permits;

        state_value operator()(state_value) const noexcept { return {--permits > 0 ? some : zero, 0}; }
    };

    state_lock lock_;
    std::ptrdiff_t permits_; // guarded by lock_
};

using binary_semaphore = counting_semaphore<1>;

} // namespace ekiden::inline EKIDEN_ABI

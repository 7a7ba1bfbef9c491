/// A counting semaphore. A wait for a permit can have a limit. A coroutine can wait without blocking a
/// thread.
///
/// Part: sync. Used by: users. A semaphore is a state_lock whose payload is the number of permits. While the
/// payload can hold the number of permits, an acquire or a release of one permit is one atomic step. A
/// running thread may acquire a permit before a woken thread does. If a thread has waited for more than
/// 500 us, it gets the next permit.
#pragma once

#include <ekiden/sync/detail/state_lock.hpp>
#include <ekiden/sys/back_off.hpp>
#include <ekiden/sys/contract.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

namespace ekiden::inline EKIDEN_ABI {

/// A number of permits that threads acquire and release. This class has the operations of
/// std::counting_semaphore.
///
/// Thread safety: all members may be called concurrently.
/// Ordering: a release() happens before the return of the acquire() that gets the released permit.
/// Initialization: constant.
template <std::ptrdiff_t Max = std::numeric_limits<std::ptrdiff_t>::max()>
class counting_semaphore {
    static_assert(Max >= 0, "counting_semaphore: the largest number of permits is negative");

    // rest_ is the number of permits that do not fit into the payload. A thread may access rest_ only inside
    // the lock.
    enum state : std::uint32_t {
        zero,  ///< there is no permit
        some,  ///< the payload is the number of permits, which is not 0
        plenty ///< the payload cannot hold all permits, so a thread must enter the lock to change the number
    };
    static constexpr auto most_quick =
        static_cast<std::uint32_t>(std::min(Max, std::ptrdiff_t{state_lock::max_payload}));

public:
    /// Returns the largest number of permits, which is `Max`.
    [[nodiscard]] static constexpr std::ptrdiff_t max() noexcept { return Max; }

    /// Constructs the semaphore with `permits` permits. Throws std::invalid_argument if `permits` is negative
    /// or greater than max().
    constexpr explicit counting_semaphore(std::ptrdiff_t permits)
        : lock_(value_of(permits), rules), rest_(rest_of(permits)) {
        if (permits < 0 || permits > max())
            throw std::invalid_argument("counting_semaphore: permits is " + std::to_string(permits)
                                        + ", allowed is 0 to " + std::to_string(max()));
    }

    /// Acquires a permit. Waits while there is no permit.
    void acquire() noexcept {
        if (!lock_.try_count<-1>(most_quick)) [[unlikely]]
            lock_.run(is_some, take{*this}, conduct::opens);
    }
    /// Acquires a permit. Gives up when `limit` is reached. Returns whether a permit was acquired.
    [[nodiscard]] bool acquire(const wait_limit& limit) noexcept {
        return lock_.try_count<-1>(most_quick) || lock_.run(is_some, take{*this}, conduct::opens, limit);
    }
    /// Acquires a permit. Waits no longer than `duration`. Returns whether a permit was acquired.
    [[nodiscard]] bool try_acquire_for(const wait_duration& duration) { return acquire(duration); }
    /// Acquires a permit. Waits until `deadline` at the latest. Returns whether a permit was acquired.
    [[nodiscard]] bool try_acquire_until(const wait_deadline& deadline) { return acquire(deadline); }
    /// Acquires a permit if there is one. Does not wait, and does not fail spuriously. Returns whether a
    /// permit was acquired.
    [[nodiscard]] bool try_acquire() noexcept {
        for (sys::back_off others;; others.wait()) { // repeats only while another thread is inside the lock
            const attempt result = lock_.try_count<-1>(most_quick, state_lock::shortest_pause)
                                       ? attempt::done
                                       : lock_.try_run(is_some, take{*this});
            if (result != attempt::busy) return result == attempt::done;
        }
    }

    /// Adds `count` permits. `count` must not be negative, and the new number of permits must not be greater
    /// than max().
    void release(std::ptrdiff_t count = 1) noexcept {
        if (count != 1 || !lock_.try_count<1>(most_quick)) [[unlikely]]
            lock_.run(state_lock::any_state, [&](state_value now) noexcept { return added(now, count); });
    }

    /// The mask of the states in which there is a permit.
    static constexpr state_lock::mask is_some = 1U << some | 1U << plenty;

private:
    friend struct detail::lock_access;
    [[nodiscard]] state_lock& core() noexcept { return lock_; }
    [[nodiscard]] state_value take_one(state_value now) noexcept { return changed(now, -1); }

    static constexpr state_rules rules{.spins = 12, .yields = 4, .first_only = true, .name = "a semaphore"};

    struct take {
        counting_semaphore& semaphore;

        state_value operator()(state_value now) const noexcept { return semaphore.take_one(now); }
    };

    static constexpr std::ptrdiff_t in_word(std::uint32_t payload) noexcept {
        return static_cast<std::ptrdiff_t>(payload);
    }
    static constexpr std::ptrdiff_t rest_of(std::ptrdiff_t permits) noexcept {
        return std::max(permits - in_word(most_quick), std::ptrdiff_t{0});
    }
    static constexpr state_value value_of(std::ptrdiff_t permits) noexcept {
        if (permits <= 0) return {zero, 0};
        return permits > in_word(most_quick) ? state_value{plenty, most_quick}
                                             : state_value{some, static_cast<std::uint32_t>(permits)};
    }

    // Adds `by` to the number of permits, and returns the new value of the lock. The caller must be inside
    // the lock.
    state_value changed(state_value now, std::ptrdiff_t by) noexcept {
        const std::ptrdiff_t permits = rest_ + in_word(now.payload) + by;
        rest_ = rest_of(permits);
        return value_of(permits);
    }
    state_value added(state_value now, std::ptrdiff_t count) noexcept {
        if (count < 0 || count > max() - rest_ - in_word(now.payload))
            sys::contract_broken("counting_semaphore::release: a negative count, or more permits than max()");
        return changed(now, count);
    }

    state_lock lock_;
    std::ptrdiff_t rest_; // lock_ guards this number
};

/// A semaphore with at most one permit.
using binary_semaphore = counting_semaphore<1>;

} // namespace ekiden::inline EKIDEN_ABI

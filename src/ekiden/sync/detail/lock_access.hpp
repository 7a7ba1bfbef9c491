/// Access to the private members of the locks.
///
/// Part: sync. Used by: the awaited operations of async, tests, models. This header is private to ekiden.
#pragma once

#include <ekiden/sync/detail/state_lock.hpp>

namespace ekiden::inline EKIDEN_ABI::detail {

/// A class that is a friend of each lock. Users of the library never need this class.
struct lock_access {
    /// Returns the state_lock inside `lock`. Waits that block no thread use the state_lock directly
    /// (state_lock::start).
    template <class Lock>
    [[nodiscard]] static state_lock& core(Lock& lock) noexcept {
        return lock.core();
    }

    /// Unlocks a mutex that was locked through core(). Any thread may call this function, because no thread
    /// owns a mutex that was locked through core().
    template <class Mutex>
    static void end_hold(Mutex& held) noexcept {
        held.end_hold();
    }
    template <class Mutex>
    static void end_hold_shared(Mutex& held) noexcept {
        held.end_hold_shared();
    }

    /// Returns the value that an rw_mutex with the value `now` gets when a writer enters.
    template <class Mutex>
    static state_value begin_writing(state_value now) noexcept {
        return Mutex::begin_writing(now);
    }
    /// Returns the value that an rw_mutex with the value `now` gets when a reader enters.
    template <class Mutex>
    static state_value begin_reading(state_value now) noexcept {
        return Mutex::begin_reading(now);
    }

    /// Returns a mask with one bit. The bit stands for the state that a barrier has after the round of
    /// `token`.
    template <class Barrier>
    [[nodiscard]] static state_lock::mask after(typename Barrier::arrival_token token) noexcept {
        return Barrier::after(token);
    }

    /// Acquires a permit of a semaphore. The caller must be inside the lock of the semaphore, and the state
    /// must be in the mask `is_some`.
    template <class Semaphore>
    static state_value take_one(Semaphore& semaphore, state_value now) noexcept {
        return semaphore.take_one(now);
    }

    /// Returns the mask of the states in which the operation `Op` of a state_mutex may begin.
    template <class StateMutex, auto Op>
    [[nodiscard]] static constexpr state_lock::mask entry() noexcept {
        return StateMutex::template entry<Op>();
    }
    /// Returns a guard for a state_mutex that was entered through core(). Any thread may destroy this guard
    /// without a call of leave(), because a coroutine can be destroyed while it waits. In this case, the
    /// destructor of the guard leaves the mutex, and the state of the mutex is unchanged.
    template <auto Op, class StateMutex>
    [[nodiscard]] static auto adopt(StateMutex& entered) noexcept {
        return entered.template adopt<Op>();
    }
};

} // namespace ekiden::inline EKIDEN_ABI::detail

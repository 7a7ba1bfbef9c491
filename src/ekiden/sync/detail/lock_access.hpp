/// Access to the private members of the locks.
///
/// Part: sync. Used by: the awaited operations (async), tests and models. Private.
#pragma once

#include <ekiden/sync/detail/state_lock.hpp>

namespace ekiden::inline EKIDEN_ABI::detail {

/// A friend of each lock. Users of the library never need it.
struct lock_access {
    /// Returns the state_lock inside, for waits that block no thread (state_lock::start).
    template <class Lock>
    [[nodiscard]] static state_lock& core(Lock& lock) noexcept {
        return lock.core();
    }

    /// Leaves a mutex that was entered through core(). Any thread may call it, because no thread holds the
    /// mutex.
    template <class Mutex>
    static void end_hold(Mutex& held) noexcept {
        held.end_hold();
    }
    template <class Mutex>
    static void end_hold_shared(Mutex& held) noexcept {
        held.end_hold_shared();
    }

    /// The transitions of a rw_mutex, for a writer and for a reader.
    template <class Mutex>
    static state_value begin_writing(state_value now) noexcept {
        return Mutex::begin_writing(now);
    }
    template <class Mutex>
    static state_value begin_reading(state_value now) noexcept {
        return Mutex::begin_reading(now);
    }

    /// The state of a barrier after the round of `token`.
    template <class Barrier>
    [[nodiscard]] static state_lock::mask after(typename Barrier::arrival_token token) noexcept {
        return Barrier::after(token);
    }

    /// Takes a permit of a semaphore. Called inside its lock, in a state of `is_some`.
    template <class Semaphore>
    static state_value take_one(Semaphore& semaphore, state_value now) noexcept {
        return semaphore.take_one(now);
    }

    /// The states in which the operation `Op` of a state_mutex may begin.
    template <class StateMutex, auto Op>
    [[nodiscard]] static constexpr state_lock::mask entry() noexcept {
        return StateMutex::template entry<Op>();
    }
    /// Returns a guard after an entry through core(). Any thread may destroy it, even without an exception,
    /// because the frame of a coroutine can be destroyed at any of its waits. The guard then leaves with the
    /// state in which it entered.
    template <auto Op, class StateMutex>
    [[nodiscard]] static auto adopt(StateMutex& entered) noexcept {
        return entered.template adopt<Op>();
    }
};

} // namespace ekiden::inline EKIDEN_ABI::detail

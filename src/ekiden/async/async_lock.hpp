/// Locks and semaphores that a coroutine waits for without blocking its thread.
///
/// Part: async. Used by: programs. Each lock has one list of waiters, which contains both coroutines and
/// threads. The page locks.md has the rules for stops, for limits, for the order of the waiters, and for the
/// destruction of coroutine frames.
///
/// Coroutines cannot wait for three types of locks: spin_mutex, sequencer and elastic_barrier. A spin_mutex
/// has no list of waiters. A sequencer is a queue for the calls of threads. An elastic_barrier is designed
/// for threads only.
#pragma once

#include <ekiden/async/detail/lock_awaiter.hpp>
#include <ekiden/sync/counting_semaphore.hpp>
#include <ekiden/sync/detail/lock_access.hpp>
#include <ekiden/sync/detail/mutex_base.hpp>
#include <ekiden/sync/rw_mutex.hpp>
#include <ekiden/sync/state_mutex.hpp>
#include <ekiden/sync/wait_limit.hpp>

#include <concepts>
#include <cstddef>
#include <mutex>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// Unlocks a mutex that async_lock() has locked. Call release() on the guard before this call. Any thread may
/// call this function, because no thread owns such a mutex. Use unlock() for a mutex that was locked with
/// lock(). If lock_checks is true, the library reports a call of the wrong unlock function.
template <std::derived_from<mutex_base> Mutex>
void async_unlock(Mutex& m) noexcept {
    detail::lock_access::end_hold(m);
}
/// Unlocks a rw_mutex that async_lock() has locked. Any thread may call this function.
template <rw_policy Policy>
void async_unlock(rw_mutex<Policy>& m) noexcept {
    detail::lock_access::end_hold(m);
}
/// Unlocks a rw_mutex that async_lock_shared() has locked. Any thread may call this function.
template <rw_policy Policy>
void async_unlock_shared(rw_mutex<Policy>& m) noexcept {
    detail::lock_access::end_hold_shared(m);
}

/// A guard that holds a lock on behalf of a coroutine. The coroutine may await other operations while it
/// holds the lock.
///
/// Any thread may run the destructor, which unlocks the lock. After a guard has been moved from or released,
/// it holds no lock. Thread safety: only one thread at a time may use a guard.
template <class Mutex, bool IsShared = false>
class [[nodiscard("the guard holds the lock")]] async_lock_guard {
public:
    /// The type of the lock.
    using mutex_type = Mutex;

    /// Constructs a guard for a lock that an awaited operation has already acquired.
    async_lock_guard(Mutex& held, std::adopt_lock_t) noexcept : held_(&held) {}
    async_lock_guard(async_lock_guard&& other) noexcept : held_(other.release()) {}
    async_lock_guard& operator=(async_lock_guard&& other) noexcept {
        if (this != &other) {
            unlock();
            held_ = other.release();
        }
        return *this;
    }
    ~async_lock_guard() { unlock(); }

    /// Returns whether the guard holds the lock.
    [[nodiscard]] bool owns_lock() const noexcept { return held_ != nullptr; }
    /// Returns the lock, or null if the guard holds no lock.
    [[nodiscard]] Mutex* mutex() const noexcept { return held_; }
    /// Unlocks the lock before the guard is destroyed. Has no effect if the guard holds no lock.
    void unlock() noexcept {
        Mutex* const held = release();
        if (held == nullptr) return;
        if constexpr (IsShared)
            ekiden::async_unlock_shared(*held);
        else
            ekiden::async_unlock(*held);
    }
    /// Detaches the guard from the lock without unlocking the lock. Returns the lock, or null if the guard
    /// holds no lock. The program must unlock the lock with async_unlock() or async_unlock_shared().
    [[nodiscard]] Mutex* release() noexcept { return std::exchange(held_, nullptr); }

private:
    Mutex* held_;
};

namespace detail {

/// An operation that locks a mutex, fifo_mutex or hybrid_mutex. The thread that unlocks the mutex passes the
/// mutex directly to the waiting coroutine.
template <class Mutex>
class mutex_operation : public lock_operation {
public:
    static constexpr bool is_pure = false;
    static constexpr const char* canceled = "async_lock: the wait was stopped";

    explicit mutex_operation(Mutex& m) noexcept
        : lock_operation{lock_access::core(m), mutex_base::free}, mutex_(m) {}
    [[nodiscard]] bool try_now() const noexcept { return lock.try_enter(states); }
    void give_back() const noexcept { ekiden::async_unlock(mutex_); }
    [[nodiscard]] async_lock_guard<Mutex> granted() const noexcept { return {mutex_, std::adopt_lock}; }

private:
    Mutex& mutex_;
};

/// An operation that locks a rw_mutex for writing or for reading.
template <rw_policy Policy, bool IsShared>
class rw_operation : public lock_operation {
    using mutex = rw_mutex<Policy>;
    using guard = async_lock_guard<mutex, IsShared>;

public:
    static constexpr bool is_pure = true;
    static constexpr const char* canceled =
        IsShared ? "async_lock_shared: the wait was stopped" : "async_lock: the wait was stopped";

    explicit rw_operation(mutex& m) noexcept
        : lock_operation{lock_access::core(m),
                         IsShared ? rw_rules<Policy>::reader_enters : rw_rules<Policy>::writer_enters},
          mutex_(m) {}
    [[nodiscard]] bool try_now() const noexcept { return lock.try_apply(states, change) == attempt::done; }
    static state_value change(state_value now) noexcept {
        if constexpr (IsShared)
            return lock_access::begin_reading<mutex>(now);
        else
            return lock_access::begin_writing<mutex>(now);
    }
    void give_back() const noexcept { granted().unlock(); }
    [[nodiscard]] guard granted() const noexcept { return {mutex_, std::adopt_lock}; }

private:
    mutex& mutex_;
};

/// Defines the types of the awaited operations of a lock.
template <class Mutex>
struct lock_operations {};
template <std::derived_from<mutex_base> Mutex>
struct lock_operations<Mutex> {
    using exclusive = mutex_operation<Mutex>;
};
template <rw_policy Policy>
struct lock_operations<rw_mutex<Policy>> {
    using exclusive = rw_operation<Policy, false>;
    using shared = rw_operation<Policy, true>;
};

/// True for mutex, fifo_mutex, hybrid_mutex and rw_mutex.
template <class Mutex>
concept awaited_mutex = requires { typename lock_operations<Mutex>::exclusive; };
/// True for rw_mutex.
template <class Mutex>
concept awaited_shared_mutex = requires { typename lock_operations<Mutex>::shared; };

/// An operation that enters a state_mutex.
template <auto Op, class StateMutex>
class enter_operation : public lock_operation {
public:
    static constexpr bool is_pure = false;
    static constexpr const char* canceled = "async_enter: the wait was stopped";

    explicit enter_operation(StateMutex& m) noexcept
        : lock_operation{lock_access::core(m), lock_access::entry<StateMutex, Op>()}, mutex_(m) {}
    [[nodiscard]] bool try_now() const noexcept { return lock.try_enter(states); }
    void give_back() const noexcept { lock.exit(lock.value()); }
    [[nodiscard]] auto granted() const noexcept { return lock_access::adopt<Op>(mutex_); }

private:
    StateMutex& mutex_;
};

/// True for a state_mutex that has the operation `Op`.
template <class StateMutex, auto Op>
concept has_operation = requires { typename StateMutex::template guard<Op>; };

/// Runs `change` while this thread holds the lock, and returns true. Retries a few times if another thread
/// holds the lock. Returns false if all attempts fail, or if the state of the lock is not one of `states`.
template <class Change>
[[nodiscard]] bool run_soon(state_lock& lock, state_lock::mask states, Change&& change) noexcept {
    for (unsigned attempts = 1;; ++attempts) {
        const attempt result = lock.try_run(states, change);
        if (result != attempt::busy || !pause_before_attempt(attempts)) return result == attempt::done;
    }
}

/// An operation that acquires a permit of a semaphore.
template <class Semaphore>
class acquire_operation : public lock_operation {
public:
    static constexpr bool is_pure = false;
    static constexpr const char* canceled = "async_acquire: the wait was stopped";

    explicit acquire_operation(Semaphore& s) noexcept
        : lock_operation{lock_access::core(s), Semaphore::is_some}, semaphore_(s) {}
    [[nodiscard]] bool try_now() const noexcept {
        return detail::run_soon(lock, states, [this](state_value now) noexcept { return change(now); });
    }
    state_value change(state_value now) const noexcept { return lock_access::take_one(semaphore_, now); }
    void give_back() const noexcept { semaphore_.release(); }
    static void granted() noexcept {}

private:
    Semaphore& semaphore_;
};

} // namespace detail

// A function with the parameter `limit` waits until this limit at most. Every function with a limit makes at
// least one attempt, even if the limit has already been reached. A std::stop_token can be passed as a limit.

// ---- exclusive locks

/// `const auto guard = co_await async_lock(m)`: waits for the mutex, locks it, and returns an
/// async_lock_guard.
///
/// Waiters get the mutex in the order of arrival. For a rw_mutex, the policy defines the order. A coroutine
/// does not spin while it waits for a hybrid_mutex. Throws operation_canceled if the coroutine is stopped
/// before it gets the mutex.
template <detail::awaited_mutex Mutex>
[[nodiscard]] auto async_lock(Mutex& m) noexcept {
    return detail::lock_awaiter<typename detail::lock_operations<Mutex>::exclusive>(m);
}
/// `const auto guard = co_await async_lock(m, limit)`: locks the mutex like async_lock(m), but waits until
/// `limit` at most. Returns a std::optional of an async_lock_guard. The optional is empty if `limit` or a
/// stop of the coroutine has ended the wait.
///
/// Throws std::bad_alloc. Throws std::system_error if the context needs a thread for its timers and the
/// system cannot start one.
template <detail::awaited_mutex Mutex>
[[nodiscard]] auto async_lock(Mutex& m, const wait_limit& limit) noexcept {
    return detail::limited_awaiter<typename detail::lock_operations<Mutex>::exclusive>(limit, m);
}
/// Locks the mutex like async_lock(m, limit). The limit is the time of the call plus `duration`.
template <detail::awaited_mutex Mutex>
[[nodiscard]] auto async_try_lock_for(Mutex& m, const wait_duration& duration) {
    return ekiden::async_lock(m, duration);
}
/// Locks the mutex like async_lock(m, limit). The limit is the time point `time`, which is converted to the
/// steady clock when the wait begins.
template <detail::awaited_mutex Mutex>
[[nodiscard]] auto async_try_lock_until(Mutex& m, const wait_deadline& time) {
    return ekiden::async_lock(m, time);
}

// ---- shared locks

/// `const auto guard = co_await async_lock_shared(m)`: waits for the rw_mutex, locks it for reading, and
/// returns an async_lock_guard. Throws operation_canceled if the coroutine is stopped before it gets the
/// lock.
template <detail::awaited_shared_mutex Mutex>
[[nodiscard]] auto async_lock_shared(Mutex& m) noexcept {
    return detail::lock_awaiter<typename detail::lock_operations<Mutex>::shared>(m);
}
/// `const auto guard = co_await async_lock_shared(m, limit)`: locks the rw_mutex like async_lock_shared(m),
/// but waits until `limit` at most. Returns a std::optional of an async_lock_guard. The optional is empty if
/// `limit` or a stop of the coroutine has ended the wait. Throws the same exceptions as async_lock(m, limit).
template <detail::awaited_shared_mutex Mutex>
[[nodiscard]] auto async_lock_shared(Mutex& m, const wait_limit& limit) noexcept {
    return detail::limited_awaiter<typename detail::lock_operations<Mutex>::shared>(limit, m);
}
/// Locks the rw_mutex like async_lock_shared(m, limit). The limit is the time of the call plus `duration`.
template <detail::awaited_shared_mutex Mutex>
[[nodiscard]] auto async_try_lock_shared_for(Mutex& m, const wait_duration& duration) {
    return ekiden::async_lock_shared(m, duration);
}
/// Locks the rw_mutex like async_lock_shared(m, limit). The limit is the time point `time`, which is
/// converted to the steady clock when the wait begins.
template <detail::awaited_shared_mutex Mutex>
[[nodiscard]] auto async_try_lock_shared_until(Mutex& m, const wait_deadline& time) {
    return ekiden::async_lock_shared(m, time);
}

// ---- state_mutex

/// `auto guard = co_await async_enter<op>(m)`: waits until the operation `op` may begin, and enters the
/// mutex. Returns the same type of guard as enter().
///
/// The program must call leave() on the guard, and pass the next state. If the guard is destroyed with the
/// frame of its coroutine, the guard leaves the state of the mutex unchanged. Throws operation_canceled if
/// the coroutine is stopped before it enters the mutex.
template <auto Op, detail::has_operation<Op> StateMutex>
[[nodiscard]] auto async_enter(StateMutex& m) noexcept {
    return detail::lock_awaiter<detail::enter_operation<Op, StateMutex>>(m);
}
/// `auto guard = co_await async_enter<op>(m, limit)`: enters the mutex like async_enter<op>(m), but waits
/// until `limit` at most. Returns a std::optional of the guard. The optional is empty if `limit` or a stop of
/// the coroutine has ended the wait. Throws the same exceptions as async_lock(m, limit).
template <auto Op, detail::has_operation<Op> StateMutex>
[[nodiscard]] auto async_enter(StateMutex& m, const wait_limit& limit) noexcept {
    return detail::limited_awaiter<detail::enter_operation<Op, StateMutex>>(limit, m);
}
/// Enters the mutex like async_enter<op>(m, limit). The limit is the time of the call plus `duration`.
template <auto Op, detail::has_operation<Op> StateMutex>
[[nodiscard]] auto async_enter_for(StateMutex& m, const wait_duration& duration) {
    return ekiden::async_enter<Op>(m, duration);
}
/// Enters the mutex like async_enter<op>(m, limit). The limit is the time point `time`, which is converted to
/// the steady clock when the wait begins.
template <auto Op, detail::has_operation<Op> StateMutex>
[[nodiscard]] auto async_enter_until(StateMutex& m, const wait_deadline& time) {
    return ekiden::async_enter<Op>(m, time);
}

// ---- semaphores

/// `co_await async_acquire(s)`: waits for a permit of the semaphore and acquires it.
///
/// Waiters get permits in the order of arrival. A caller that finds a free permit acquires it without
/// waiting. Throws operation_canceled if the coroutine is stopped before it gets a permit.
template <std::ptrdiff_t Max>
[[nodiscard]] auto async_acquire(counting_semaphore<Max>& s) noexcept {
    return detail::lock_awaiter<detail::acquire_operation<counting_semaphore<Max>>>(s);
}
/// `const bool taken = co_await async_acquire(s, limit)`: acquires a permit like async_acquire(s), but waits
/// until `limit` at most. Returns true if a permit was acquired. Returns false if `limit` or a stop of the
/// coroutine has ended the wait. Throws the same exceptions as async_lock(m, limit).
template <std::ptrdiff_t Max>
[[nodiscard]] auto async_acquire(counting_semaphore<Max>& s, const wait_limit& limit) noexcept {
    return detail::limited_awaiter<detail::acquire_operation<counting_semaphore<Max>>>(limit, s);
}
/// Acquires a permit like async_acquire(s, limit). The limit is the time of the call plus `duration`.
template <std::ptrdiff_t Max>
[[nodiscard]] auto async_try_acquire_for(counting_semaphore<Max>& s, const wait_duration& duration) {
    return ekiden::async_acquire(s, duration);
}
/// Acquires a permit like async_acquire(s, limit). The limit is the time point `time`, which is converted to
/// the steady clock when the wait begins.
template <std::ptrdiff_t Max>
[[nodiscard]] auto async_try_acquire_until(counting_semaphore<Max>& s, const wait_deadline& time) {
    return ekiden::async_acquire(s, time);
}

} // namespace ekiden::inline EKIDEN_ABI

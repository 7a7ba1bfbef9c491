/// Locks and semaphores that a coroutine waits for without blocking its thread.
///
/// Part: async. Used by: programs. Coroutines and threads wait in one list. The rules for stops, limits, the
/// order, and the end of a frame: locks.md. Three types have no awaited form. A spin_mutex has no list of
/// waiters. A sequencer is a queue of threads' calls. An elastic_barrier is for threads that work in step.
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

/// Unlocks a mutex that an awaited form has locked and whose guard was released. Any thread may call it,
/// because no thread holds the mutex. A lock that a thread has locked is unlocked by that thread, with
/// unlock(); where lock_checks is set, a mix-up is reported.
template <std::derived_from<mutex_base> Mutex>
void async_unlock(Mutex& m) noexcept {
    detail::lock_access::end_hold(m);
}
/// Unlocks a rw_mutex that async_lock() has locked. Any thread may call it.
template <rw_policy Policy>
void async_unlock(rw_mutex<Policy>& m) noexcept {
    detail::lock_access::end_hold(m);
}
/// Unlocks a rw_mutex that async_lock_shared() has locked. Any thread may call it.
template <rw_policy Policy>
void async_unlock_shared(rw_mutex<Policy>& m) noexcept {
    detail::lock_access::end_hold_shared(m);
}

/// A guard that holds a lock for a coroutine, also across awaits.
///
/// The destructor unlocks, in any thread. A guard that was moved from or released holds no lock.
/// Thread safety: one thread at a time.
template <class Mutex, bool IsShared = false>
class [[nodiscard("the guard holds the lock")]] async_lock_guard {
public:
    /// The type of the lock.
    using mutex_type = Mutex;

    /// Adopts a lock that an awaited form has locked already.
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
    /// Returns the lock, or null if the guard holds none.
    [[nodiscard]] Mutex* mutex() const noexcept { return held_; }
    /// Unlocks before the guard's end. Has no effect if the guard holds no lock.
    void unlock() noexcept {
        Mutex* const held = release();
        if (held == nullptr) return;
        if constexpr (IsShared)
            async_unlock_shared(*held);
        else
            async_unlock(*held);
    }
    /// Gives up the lock without unlocking it. Returns the lock, or null if the guard holds none. The program
    /// unlocks it with async_unlock() or async_unlock_shared().
    [[nodiscard]] Mutex* release() noexcept { return std::exchange(held_, nullptr); }

private:
    Mutex* held_;
};

namespace detail {

/// Locks a mutex, fifo_mutex or hybrid_mutex. The releaser hands over the lock itself.
template <class Mutex>
class mutex_operation : public lock_operation {
public:
    static constexpr bool is_pure = false;
    static constexpr const char* canceled = "async_lock: the wait was stopped";

    explicit mutex_operation(Mutex& m) noexcept
        : lock_operation{lock_access::core(m), mutex_base::free}, mutex_(m) {}
    [[nodiscard]] bool try_now() const noexcept { return lock.try_enter(states); }
    void give_back() const noexcept { async_unlock(mutex_); }
    [[nodiscard]] async_lock_guard<Mutex> granted() const noexcept { return {mutex_, std::adopt_lock}; }

private:
    Mutex& mutex_;
};

/// Locks a rw_mutex, for writing or for reading.
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

/// The operations of a lock.
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

/// mutex, fifo_mutex, hybrid_mutex, rw_mutex.
template <class Mutex>
concept awaited_mutex = requires { typename lock_operations<Mutex>::exclusive; };
/// rw_mutex.
template <class Mutex>
concept awaited_shared_mutex = requires { typename lock_operations<Mutex>::shared; };

/// Enters a state_mutex.
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

/// A state_mutex.
template <class StateMutex, auto Op>
concept has_operation = requires { typename StateMutex::template guard<Op>; };

/// Runs `change` inside the lock. Gives up if another thread stays inside, or if the lock is in another
/// state.
template <class Change>
[[nodiscard]] bool run_soon(state_lock& lock, state_lock::mask states, Change&& change) noexcept {
    for (unsigned attempts = 1;; ++attempts) {
        const attempt result = lock.try_run(states, change);
        if (result != attempt::busy || !pause_before_attempt(attempts)) return result == attempt::done;
    }
}

/// Acquires a permit of a semaphore.
template <class Semaphore>
class acquire_operation : public lock_operation {
public:
    static constexpr bool is_pure = false;
    static constexpr const char* canceled = "async_acquire: the wait was stopped";

    explicit acquire_operation(Semaphore& s) noexcept
        : lock_operation{lock_access::core(s), Semaphore::is_some}, semaphore_(s) {}
    [[nodiscard]] bool try_now() const noexcept {
        return run_soon(lock, states, [this](state_value now) noexcept { return change(now); });
    }
    state_value change(state_value now) const noexcept { return lock_access::take_one(semaphore_, now); }
    void give_back() const noexcept { semaphore_.release(); }
    static void granted() noexcept {}

private:
    Semaphore& semaphore_;
};

} // namespace detail

// The forms with a limit wait until the limit at most, counted from the call. They try at least once, so a
// limit that has been reached already means one attempt. A stop token converts to a limit.

// ---- exclusive locks

/// `const auto guard = co_await async_lock(m)`: waits for the mutex, and returns an async_lock_guard.
///
/// The mutex is handed over in the order of arrival; a rw_mutex by its policy. A hybrid_mutex does not spin
/// for a coroutine. Throws operation_canceled if the coroutine's stop is requested first.
template <detail::awaited_mutex Mutex>
[[nodiscard]] auto async_lock(Mutex& m) noexcept {
    return detail::lock_awaiter<typename detail::lock_operations<Mutex>::exclusive>(m);
}
/// `const auto guard = co_await async_lock(m, limit)`: returns a std::optional of an async_lock_guard, empty
/// if `limit` was reached or the coroutine's stop was requested first.
///
/// Throws std::bad_alloc, and std::system_error if the context has no thread for its timers and the system
/// gives none.
template <detail::awaited_mutex Mutex>
[[nodiscard]] auto async_lock(Mutex& m, const wait_limit& limit) noexcept {
    return detail::limited_awaiter<typename detail::lock_operations<Mutex>::exclusive>(limit, m);
}
/// The same with a duration from the call as the limit.
template <detail::awaited_mutex Mutex>
[[nodiscard]] auto async_try_lock_for(Mutex& m, const wait_duration& duration) {
    return async_lock(m, duration);
}
/// The same with a time point as the limit. The distance from now counts for clocks other than the library's.
template <detail::awaited_mutex Mutex>
[[nodiscard]] auto async_try_lock_until(Mutex& m, const wait_deadline& time) {
    return async_lock(m, time);
}

// ---- shared locks

/// `const auto guard = co_await async_lock_shared(m)`: waits for the rw_mutex as a reader, and returns an
/// async_lock_guard. Throws operation_canceled if the coroutine's stop is requested first.
template <detail::awaited_shared_mutex Mutex>
[[nodiscard]] auto async_lock_shared(Mutex& m) noexcept {
    return detail::lock_awaiter<typename detail::lock_operations<Mutex>::shared>(m);
}
/// `const auto guard = co_await async_lock_shared(m, limit)`: returns a std::optional of an async_lock_guard,
/// empty if `limit` was reached or the coroutine's stop was requested first. Throws like async_lock(m,
/// limit).
template <detail::awaited_shared_mutex Mutex>
[[nodiscard]] auto async_lock_shared(Mutex& m, const wait_limit& limit) noexcept {
    return detail::limited_awaiter<typename detail::lock_operations<Mutex>::shared>(limit, m);
}
/// The same with a duration from the call as the limit.
template <detail::awaited_shared_mutex Mutex>
[[nodiscard]] auto async_try_lock_shared_for(Mutex& m, const wait_duration& duration) {
    return async_lock_shared(m, duration);
}
/// The same with a time point as the limit. The distance from now counts for clocks other than the library's.
template <detail::awaited_shared_mutex Mutex>
[[nodiscard]] auto async_try_lock_shared_until(Mutex& m, const wait_deadline& time) {
    return async_lock_shared(m, time);
}

// ---- state_mutex

/// `auto guard = co_await async_enter<op>(m)`: waits until `Op` may begin, enters, and returns the guard of
/// enter().
///
/// The guard must be told the next state. A guard that is destroyed with its coroutine's frame leaves with
/// the state in which it entered. Throws operation_canceled if the coroutine's stop is requested first.
template <auto Op, detail::has_operation<Op> StateMutex>
[[nodiscard]] auto async_enter(StateMutex& m) noexcept {
    return detail::lock_awaiter<detail::enter_operation<Op, StateMutex>>(m);
}
/// `auto guard = co_await async_enter<op>(m, limit)`: returns a std::optional of the guard, empty if `limit`
/// was reached or the coroutine's stop was requested first. Throws like async_lock(m, limit).
template <auto Op, detail::has_operation<Op> StateMutex>
[[nodiscard]] auto async_enter(StateMutex& m, const wait_limit& limit) noexcept {
    return detail::limited_awaiter<detail::enter_operation<Op, StateMutex>>(limit, m);
}
/// The same with a duration from the call as the limit.
template <auto Op, detail::has_operation<Op> StateMutex>
[[nodiscard]] auto async_enter_for(StateMutex& m, const wait_duration& duration) {
    return async_enter<Op>(m, duration);
}
/// The same with a time point as the limit. The distance from now counts for clocks other than the library's.
template <auto Op, detail::has_operation<Op> StateMutex>
[[nodiscard]] auto async_enter_until(StateMutex& m, const wait_deadline& time) {
    return async_enter<Op>(m, time);
}

// ---- semaphores

/// `co_await async_acquire(s)`: waits for a permit and takes it.
///
/// Waiters get permits in the order of arrival. A caller that arrives while a permit is free takes it at
/// once. Throws operation_canceled if the coroutine's stop is requested first.
template <std::ptrdiff_t Max>
[[nodiscard]] auto async_acquire(counting_semaphore<Max>& s) noexcept {
    return detail::lock_awaiter<detail::acquire_operation<counting_semaphore<Max>>>(s);
}
/// `const bool taken = co_await async_acquire(s, limit)`: returns true if it took a permit, and false if
/// `limit` was reached or the coroutine's stop was requested first. Throws like async_lock(m, limit).
template <std::ptrdiff_t Max>
[[nodiscard]] auto async_acquire(counting_semaphore<Max>& s, const wait_limit& limit) noexcept {
    return detail::limited_awaiter<detail::acquire_operation<counting_semaphore<Max>>>(limit, s);
}
/// The same with a duration from the call as the limit.
template <std::ptrdiff_t Max>
[[nodiscard]] auto async_try_acquire_for(counting_semaphore<Max>& s, const wait_duration& duration) {
    return async_acquire(s, duration);
}
/// The same with a time point as the limit. The distance from now counts for clocks other than the library's.
template <std::ptrdiff_t Max>
[[nodiscard]] auto async_try_acquire_until(counting_semaphore<Max>& s, const wait_deadline& time) {
    return async_acquire(s, time);
}

} // namespace ekiden::inline EKIDEN_ABI

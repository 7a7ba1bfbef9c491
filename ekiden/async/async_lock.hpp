/// Locks that a coroutine awaits: it waits in one list with the threads, and blocks none.
///
/// Part: async. Used by: users. What holds of all of them (stops, deadlines, the order, how a frame may end):
/// locks.md. A spin_mutex, a sequencer and an elastic_barrier have no awaited form: the first has no list,
/// the second is a queue of threads' calls, the third is for threads that work in step.
#pragma once

#include <ekiden/async/lock_awaiter.hpp>
#include <ekiden/sync/counting_semaphore.hpp>
#include <ekiden/sync/mutex_base.hpp>
#include <ekiden/sync/rw_mutex.hpp>
#include <ekiden/sync/state_mutex.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// mutex, fifo_mutex, hybrid_mutex: the releaser hands over the lock itself.
template <class Mutex>
class mutex_operation {
public:
    static constexpr bool is_pure = false;

    explicit mutex_operation(Mutex& m) noexcept : mutex_(m) {}
    [[nodiscard]] state_lock& core() const noexcept { return mutex_.core(); }
    [[nodiscard]] static constexpr state_lock::mask states() noexcept { return mutex_base::free; }
    [[nodiscard]] bool try_now() const noexcept { return mutex_.core().try_enter(mutex_base::free); }
    void give_back() const noexcept { mutex_.end_hold(); }
    [[nodiscard]] static bool result(wait_result r) noexcept { return r == wait_result::done; }

protected:
    Mutex& mutex_;
};

template <rw_policy Policy>
class write_operation {
    using lock = rw_mutex<Policy>;

public:
    static constexpr bool is_pure = true;

    explicit write_operation(lock& m) noexcept : mutex_(m) {}
    [[nodiscard]] state_lock& core() const noexcept { return mutex_.core(); }
    [[nodiscard]] static constexpr state_lock::mask states() noexcept {
        return rw_rules<Policy>::writer_enters;
    }
    [[nodiscard]] bool try_now() const noexcept {
        return mutex_.core().try_apply(states(), lock::begin_writing) == attempt::done;
    }
    static state_value change(state_value now) noexcept { return lock::begin_writing(now); }
    void give_back() const noexcept { mutex_.end_hold(); }
    [[nodiscard]] static bool result(wait_result r) noexcept { return r == wait_result::done; }

protected:
    lock& mutex_;
};

template <rw_policy Policy>
class read_operation {
    using lock = rw_mutex<Policy>;

public:
    static constexpr bool is_pure = true;

    explicit read_operation(lock& m) noexcept : mutex_(m) {}
    [[nodiscard]] state_lock& core() const noexcept { return mutex_.core(); }
    [[nodiscard]] static constexpr state_lock::mask states() noexcept {
        return rw_rules<Policy>::reader_enters;
    }
    [[nodiscard]] bool try_now() const noexcept {
        return mutex_.core().try_apply(states(), lock::begin_reading) == attempt::done;
    }
    static state_value change(state_value now) noexcept { return lock::begin_reading(now); }
    void give_back() const noexcept { mutex_.end_hold_shared(); }
    [[nodiscard]] static bool result(wait_result r) noexcept { return r == wait_result::done; }

protected:
    lock& mutex_;
};

template <auto Op, class StateMutex>
class enter_operation {
public:
    static constexpr bool is_pure = false;

    explicit enter_operation(StateMutex& m) noexcept : mutex_(m) {}
    [[nodiscard]] state_lock& core() const noexcept { return mutex_.core(); }
    [[nodiscard]] static constexpr state_lock::mask states() noexcept {
        return StateMutex::template mask_of<Op>();
    }
    [[nodiscard]] bool try_now() const noexcept { return mutex_.core().try_enter(states()); }
    void give_back() const noexcept { mutex_.core().exit(mutex_.core().value()); }
    [[nodiscard]] auto result(wait_result r) const noexcept {
        using guard = decltype(mutex_.template adopt<Op>());
        return r == wait_result::done ? std::optional<guard>(mutex_.template adopt<Op>()) : std::nullopt;
    }

private:
    StateMutex& mutex_;
};

/// Runs `change` inside the lock, unless somebody is inside even after a moment or the state is another one.
template <class Change>
[[nodiscard]] bool run_soon(state_lock& lock, state_lock::mask states, Change&& change) noexcept {
    for (unsigned looks = 1;; ++looks) {
        const attempt result = lock.try_run(states, change);
        if (result != attempt::busy || !pause_before_look(looks)) return result == attempt::done;
    }
}

template <std::ptrdiff_t Max>
class acquire_operation {
    using semaphore = counting_semaphore<Max>;

public:
    static constexpr bool is_pure = false;

    explicit acquire_operation(semaphore& s) noexcept : semaphore_(s) {}
    [[nodiscard]] state_lock& core() const noexcept { return semaphore_.core(); }
    [[nodiscard]] static constexpr state_lock::mask states() noexcept { return semaphore::is_some; }
    [[nodiscard]] bool try_now() const noexcept {
        return run_soon(core(), states(), [this](state_value now) noexcept { return change(now); });
    }
    state_value change(state_value now) const noexcept { return semaphore_.take_one(now); }
    void give_back() const noexcept { semaphore_.release(); }
    [[nodiscard]] static bool result(wait_result r) noexcept { return r == wait_result::done; }

private:
    semaphore& semaphore_;
};

} // namespace detail

/// What a coroutine has locked by an awaited form is unlocked by these, in any thread: no thread holds it. (A
/// lock that a thread has locked is unlocked by that thread, with unlock(): where lock_checks is set, the
/// other way round is reported.)
template <std::derived_from<mutex_base> Mutex>
void async_unlock(Mutex& m) noexcept {
    m.end_hold();
}
template <rw_policy Policy>
void async_unlock(rw_mutex<Policy>& m) noexcept {
    m.end_hold();
}
/// As async_unlock, of a reader.
template <rw_policy Policy>
void async_unlock_shared(rw_mutex<Policy>& m) noexcept {
    m.end_hold_shared();
}

/// Holds a lock for a coroutine, over awaits as well; unlocks it at its end, in any thread. Moved from, it
/// holds none. One thread at a time.
template <class Mutex, bool IsShared = false>
class [[nodiscard("the guard holds the lock")]] async_lock_guard {
public:
    /// The lock is held by an awaited form already.
    async_lock_guard(Mutex& held, std::adopt_lock_t) noexcept : held_(&held) {}
    async_lock_guard(async_lock_guard&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
    async_lock_guard& operator=(async_lock_guard&& other) noexcept {
        if (this != &other) {
            unlock();
            held_ = std::exchange(other.held_, nullptr);
        }
        return *this;
    }
    ~async_lock_guard() { unlock(); }

    /// Whether it holds the lock.
    [[nodiscard]] bool owns_lock() const noexcept { return held_ != nullptr; }
    /// Before its end; nothing if it holds none.
    void unlock() noexcept {
        Mutex* const held = std::exchange(held_, nullptr);
        if (held == nullptr) return;
        if constexpr (IsShared)
            async_unlock_shared(*held);
        else
            async_unlock(*held);
    }

private:
    Mutex* held_;
};

namespace detail {

/// The same operation, whose result is a guard.
template <class Operation, class Mutex, bool IsShared>
class guarded : public Operation {
public:
    using Operation::Operation;

    [[nodiscard]] async_lock_guard<Mutex, IsShared> result(wait_result r) const {
        if (r != wait_result::done) throw operation_canceled("the wait for a lock has been stopped");
        return {this->mutex_, std::adopt_lock};
    }
};

} // namespace detail

/// `co_await async_lock(m)`: waits for the mutex, which is handed over in the order of arrival. False: a stop
/// was requested first. Then async_unlock(m), or a guard with std::adopt_lock. A hybrid_mutex does not spin
/// for a coroutine.
template <std::derived_from<mutex_base> Mutex>
[[nodiscard]] auto async_lock(Mutex& m) noexcept {
    return detail::lock_awaiter<detail::mutex_operation<Mutex>>(m);
}
/// The same as a writer, and as a reader: by the policy of the lock.
template <rw_policy Policy>
[[nodiscard]] auto async_lock(rw_mutex<Policy>& m) noexcept {
    return detail::lock_awaiter<detail::write_operation<Policy>>(m);
}
/// As async_lock, as a reader.
template <rw_policy Policy>
[[nodiscard]] auto async_lock_shared(rw_mutex<Policy>& m) noexcept {
    return detail::lock_awaiter<detail::read_operation<Policy>>(m);
}

/// `const auto guard = co_await async_scoped_lock(m)`: as async_lock, but throws operation_canceled at a
/// stop.
template <std::derived_from<mutex_base> Mutex>
[[nodiscard]] auto async_scoped_lock(Mutex& m) noexcept {
    return detail::lock_awaiter<detail::guarded<detail::mutex_operation<Mutex>, Mutex, false>>(m);
}
template <rw_policy Policy>
[[nodiscard]] auto async_scoped_lock(rw_mutex<Policy>& m) noexcept {
    using lock = rw_mutex<Policy>;
    return detail::lock_awaiter<detail::guarded<detail::write_operation<Policy>, lock, false>>(m);
}
/// As async_scoped_lock, as a reader.
template <rw_policy Policy>
[[nodiscard]] auto async_scoped_lock_shared(rw_mutex<Policy>& m) noexcept {
    using lock = rw_mutex<Policy>;
    return detail::lock_awaiter<detail::guarded<detail::read_operation<Policy>, lock, true>>(m);
}

/// `auto guard = co_await async_enter<op>(m)`: waits until `Op` may begin, and is inside then. Nothing at a
/// stop. The guard has to be told the next state, as that of enter(); one whose frame ends before leaves with
/// the state in which it entered.
template <auto Op, class StateMutex>
    requires requires { StateMutex::template mask_of<Op>(); }
[[nodiscard]] auto async_enter(StateMutex& m) noexcept {
    return detail::lock_awaiter<detail::enter_operation<Op, StateMutex>>(m);
}

/// `co_await async_acquire(s)`: takes a permit. Those who wait get theirs in the order of arrival, but who
/// comes while one is there takes it. False: a stop was requested first.
template <std::ptrdiff_t Max>
[[nodiscard]] auto async_acquire(counting_semaphore<Max>& s) noexcept {
    return detail::lock_awaiter<detail::acquire_operation<Max>>(s);
}

} // namespace ekiden::inline EKIDEN_ABI

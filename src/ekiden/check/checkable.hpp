/// The standard library's atomics, mutex, condition variable and threads, under names that the model checker
/// can replace.
///
/// Part: check. Used by: programs, for their own lock-free code. In a normal build, these names mean the
/// standard library's classes and cost nothing. In a program of models (ekiden_add_model in CMake), these
/// names mean the model checker's classes. So the checker explores the same code unchanged.
/// docs/check-your-own.md explains how to use these names, and what the checker does not check.
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#if defined(EKIDEN_CHECKING)
#include <check/engine/mutex.hpp>
#include <type_traits>
#endif

namespace ekiden::inline EKIDEN_ABI::checkable {

using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

/// Plain data that only one thread at a time may access. `read()` and `write(value)` access the data. The
/// checker reports data races (conflicting accesses without an order) and accesses after the destruction of a
/// cell. The checker does not check plain data outside of cells.
template <class T>
using cell = sys::cell<T>;

/// std::chrono::steady_clock. In a model, the time of this clock advances when threads wait.
using steady_clock = sys::clock;

/// Tells the processor, and the checker, that a loop waits for another thread. In a model, a waiting loop
/// must call spin_hint() or this_thread::yield(), or wait on an atomic.
using sys::spin_hint;

#if !defined(EKIDEN_CHECKING)

using std::atomic;
using std::atomic_flag;
using std::atomic_thread_fence;
using std::call_once;
using std::condition_variable;
using std::cv_status;
using std::mutex;
using std::once_flag;
using std::thread;
namespace this_thread = std::this_thread;

#else

namespace detail {
/// A value, and the source location at which an operator is applied to the value.
template <class T>
struct placed {
    template <class U>
        requires std::is_convertible_v<U, T>
    placed(U&& given, std::source_location at = std::source_location::current())
        : value(static_cast<T>(static_cast<U&&>(given))), where(at) {}
    T value;
    std::source_location where;
};
} // namespace detail

/// Like std::atomic<T>, for trivially copyable T of at most 8 bytes. The operators ++ and -- and the
/// conversion to T report no source location, because these operators have no parameter for the location.
template <class T>
class atomic : public sys::atomic<T> {
    using base = sys::atomic<T>;
    using placed = detail::placed<T>;
    using step = detail::placed<std::conditional_t<std::is_pointer_v<T>, std::ptrdiff_t, T>>;

public:
    using base::base;
    atomic() noexcept = default;
    atomic(const atomic&) = delete;
    // The parameter is not const. If the parameter were const, a number would match both this operator and
    // operator=(placed).
    atomic& operator=(atomic&) = delete;

    operator T() const volatile noexcept { return base::load(); }
    T operator=(placed v) volatile noexcept {
        base::store(v.value, memory_order_seq_cst, v.where);
        return v.value;
    }
    T operator++() volatile noexcept
        requires requires(T t) { ++t; }
    {
        return next(base::fetch_add(1));
    }
    T operator++(int) volatile noexcept
        requires requires(T t) { ++t; }
    {
        return base::fetch_add(1);
    }
    T operator--() volatile noexcept
        requires requires(T t) { --t; }
    {
        return previous(base::fetch_sub(1));
    }
    T operator--(int) volatile noexcept
        requires requires(T t) { --t; }
    {
        return base::fetch_sub(1);
    }
    T operator+=(step by) volatile noexcept
        requires requires(T t) { t + 1; }
    {
        return static_cast<T>(base::fetch_add(by.value, memory_order_seq_cst, by.where) + by.value);
    }
    T operator-=(step by) volatile noexcept
        requires requires(T t) { t - 1; }
    {
        return static_cast<T>(base::fetch_sub(by.value, memory_order_seq_cst, by.where) - by.value);
    }
    T operator&=(placed bits) volatile noexcept
        requires std::is_integral_v<T>
    {
        return static_cast<T>(base::fetch_and(bits.value, memory_order_seq_cst, bits.where) & bits.value);
    }
    T operator|=(placed bits) volatile noexcept
        requires std::is_integral_v<T>
    {
        return static_cast<T>(base::fetch_or(bits.value, memory_order_seq_cst, bits.where) | bits.value);
    }
    T operator^=(placed bits) volatile noexcept
        requires std::is_integral_v<T>
    {
        return static_cast<T>(base::fetch_xor(bits.value, memory_order_seq_cst, bits.where) ^ bits.value);
    }

private:
    static T next(T value) noexcept { return static_cast<T>(value + 1); }
    static T previous(T value) noexcept { return static_cast<T>(value - 1); }
};
template <class T>
atomic(T) -> atomic<T>;

/// Like std::atomic_flag.
class atomic_flag {
    using site = std::source_location;

public:
    constexpr atomic_flag() noexcept = default;
    constexpr atomic_flag(bool set) noexcept : set_(set) {} // ATOMIC_FLAG_INIT
    bool test_and_set(memory_order how = memory_order_seq_cst,
                      site where = site::current()) volatile noexcept {
        return set_.exchange(true, how, where);
    }
    void clear(memory_order how = memory_order_seq_cst, site where = site::current()) volatile noexcept {
        set_.store(false, how, where);
    }
    [[nodiscard]] bool test(memory_order how = memory_order_seq_cst, site where = site::current()) const
        volatile noexcept {
        return set_.load(how, where);
    }
    void wait(bool old, memory_order how = memory_order_seq_cst, site where = site::current()) const
        volatile noexcept {
        set_.wait(old, how, where);
    }
    void notify_one(site where = site::current()) volatile noexcept { set_.notify_one(where); }
    void notify_all(site where = site::current()) volatile noexcept { set_.notify_all(where); }

private:
    sys::atomic<bool> set_{false};
};

/// Like std::atomic_thread_fence.
inline void atomic_thread_fence(memory_order how,
                                std::source_location where = std::source_location::current()) noexcept {
    check::thread_fence(how, where);
}

using std::cv_status;
using thread = sys::thread;

namespace this_thread {
[[nodiscard]] inline thread::id get_id() noexcept { return sys::this_thread_id(); }
inline void yield(std::source_location where = std::source_location::current()) noexcept {
    sys::yield(where);
}
/// Only yields. The call takes no model time and gives no ordering guarantee.
template <class Rep, class Period>
void sleep_for(const std::chrono::duration<Rep, Period>&,
               std::source_location where = std::source_location::current()) noexcept {
    sys::yield(where);
}
template <class Clock, class Duration>
void sleep_until(const std::chrono::time_point<Clock, Duration>&,
                 std::source_location where = std::source_location::current()) noexcept {
    sys::yield(where);
}
} // namespace this_thread

#endif

} // namespace ekiden::inline EKIDEN_ABI::checkable

/// Atomic objects, memory orders, fences, and plain data whose races matter.
///
/// Part: sys. Used by: every part; nothing above sys names std::atomic.
///
/// In a normal build these are the standard library's own. In the checking build (EKIDEN_CHECKING) the same
/// names are the model checker's: each operation then takes a defaulted std::source_location as its last
/// argument, so that the sources need no change to be checked. Operators of std::atomic (++, =, conversion)
/// carry no location and are not used in this library.
#pragma once

#include <ekiden/sys/config.hpp>

#include <atomic>

namespace ekiden::inline EKIDEN_ABI::sys {

using memory_order = std::memory_order;
inline constexpr memory_order relaxed = std::memory_order_relaxed;
inline constexpr memory_order acquire = std::memory_order_acquire;
inline constexpr memory_order release = std::memory_order_release;
inline constexpr memory_order acq_rel = std::memory_order_acq_rel;
inline constexpr memory_order seq_cst = std::memory_order_seq_cst;

} // namespace ekiden::inline EKIDEN_ABI::sys

#if defined(EKIDEN_CHECKING)
#include <check/engine/atomic.hpp> // atomic, cell, fence of the model checker
#else

namespace ekiden::inline EKIDEN_ABI::sys {

/// An object that threads may access concurrently: std::atomic<T>.
template <class T>
using atomic = std::atomic<T>;

/// Plain data that one thread at a time may touch, ordered by some atomic object. Costs nothing; the checking
/// build reports each access that no ordering separates from a conflicting one.
template <class T>
class cell {
public:
    constexpr cell() = default;
    constexpr explicit cell(T value) : value_(value) {}

    T read() const noexcept { return value_; }
    void write(T value) noexcept { value_ = value; }

private:
    T value_{};
};

/// A stand-alone fence (std::atomic_thread_fence). ThreadSanitizer does not understand fences, so its build
/// orders through a read-modify-write of one hidden object instead, which is at least as strong.
inline void fence(memory_order order) noexcept {
#if defined(EKIDEN_TSAN)
    static constinit std::atomic<unsigned> hidden{0};
    hidden.fetch_add(0, order == seq_cst ? seq_cst : acq_rel);
#else
    std::atomic_thread_fence(order);
#endif
}

} // namespace ekiden::inline EKIDEN_ABI::sys
#endif

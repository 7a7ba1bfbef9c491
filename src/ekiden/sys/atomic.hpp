/// Atomic objects, memory orders, fences, and a type for plain data that must have no data race.
///
/// Part: sys. Used by: every part. No part above sys uses std::atomic directly.
///
/// In a normal build, the names in this header stand for the types of the standard library. In the checking
/// build (EKIDEN_CHECKING), the names stand for the types of the model checker. The operations of these types
/// have a std::source_location with a default value as their last parameter. So the model checker can check
/// the code of the library without changes to the code. The library does not use the operators of std::atomic
/// (++, =, conversion), because an operator cannot have an additional parameter.
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
#include <check/engine/atomic.hpp> // contains atomic, cell and fence of the model checker
#else

namespace ekiden::inline EKIDEN_ABI::sys {

/// An object that threads may access concurrently: std::atomic<T>.
template <class T>
using atomic = std::atomic<T>;

/// Plain data that only one thread at a time may access. An atomic object must order the accesses of
/// different threads. A cell costs nothing in a normal build. The checking build reports data races on a
/// cell.
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

/// A stand-alone fence (std::atomic_thread_fence). ThreadSanitizer does not support fences. A build with
/// ThreadSanitizer uses a read-modify-write of a hidden object instead, which is at least as strong as a
/// fence.
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

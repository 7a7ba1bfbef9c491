/// A counter that one thread increments and other threads read.
///
/// Part: observe. Used by: pool.
#pragma once

#include <ekiden/sys/atomic.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// A counter with one owner. Only the owner adds, and any thread may read. Adding costs a plain load and a
/// plain store. The counter may wrap around.
class single_writer_counter {
public:
    single_writer_counter() = default;
    explicit single_writer_counter(std::uint64_t first) noexcept : value_(first) {}

    /// Adds `amount`. Only the owner may call this. Release: a thread that reads the new value sees
    /// everything that the owner did before.
    void add(std::uint64_t amount = 1) noexcept {
        value_.store(value_.load(sys::relaxed) + amount, sys::release);
    }

    /// Returns the value. Any thread may call this. Acquire: pairs with the release in add().
    [[nodiscard]] std::uint64_t value() const noexcept { return value_.load(sys::acquire); }

private:
    sys::atomic<std::uint64_t> value_{0};
};

} // namespace ekiden::inline EKIDEN_ABI

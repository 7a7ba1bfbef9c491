/// A counter that one thread increments and other threads read.
///
/// Part: observe. Used by: pool (its metrics).
#pragma once

#include <ekiden/sys/atomic.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// One thread adds, any thread reads. Adding costs a plain load and a plain store. May wrap around.
class single_writer_counter {
public:
    single_writer_counter() = default;
    explicit single_writer_counter(std::uint64_t first) noexcept : value_(first) {}

    /// Owner only. Release: everything that the owner did before is visible to a thread that reads the new
    /// value.
    void add(std::uint64_t amount = 1) noexcept {
        value_.store(value_.load(sys::relaxed) + amount, sys::release);
    }

    /// Any thread. Acquire: pairs with the release in add().
    [[nodiscard]] std::uint64_t value() const noexcept { return value_.load(sys::acquire); }

private:
    sys::atomic<std::uint64_t> value_{0};
};

} // namespace ekiden::inline EKIDEN_ABI

/// A bounded queue with a low mark. When the queue has become full, producers wait until the number of items
/// has fallen to the low mark.
///
/// Part: sync. Used by: users who want producers to work in long bursts. The design follows the buffer with
/// watermarks of Ohki and Kuno. Ohki and Kuno use this buffer to show a wait for several states at once. A
/// condition variable cannot express such a wait.
#pragma once

#include <ekiden/sync/buffer_base.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// The states of a watermark_buffer, for its base class buffer_base.
struct watermark_states : detail::closable_states {
    static constexpr std::uint32_t filling = 1;
    static constexpr std::uint32_t draining = 2; // producers wait until the low mark is reached

    static constexpr state_lock::mask push_states = 1U << empty | 1U << filling;
    static constexpr state_lock::mask pop_states = 1U << filling | 1U << draining;

    std::size_t low = 0;

    constexpr std::uint32_t next(std::uint32_t now, std::size_t size, std::size_t capacity) const noexcept {
        if (now >= closed_some) return size == 0 ? closed_empty : closed_some;
        if (size == capacity || (now == draining && size > low)) return draining;
        return size == 0 ? empty : filling;
    }
};

/// A bounded queue with a low mark. When the queue has become full, producers wait until the number of items
/// has fallen to the low mark. The operations of a watermark_buffer are the member functions of buffer_base.
template <class T>
class watermark_buffer : public buffer_base<T, watermark_states> {
    using base = buffer_base<T, watermark_states>;

public:
    /// Constructs a buffer with room for `high` items and the low mark `low`. Throws std::invalid_argument
    /// unless low < high. Can also throw std::bad_alloc.
    watermark_buffer(std::size_t low, std::size_t high)
        : base(base::checked(high, "watermark_buffer"), watermark_states{{}, checked_low(low, high)}) {}

    /// Returns the number of items that the buffer has room for.
    [[nodiscard]] std::size_t high_mark() const noexcept { return this->capacity(); }

private:
    static std::size_t checked_low(std::size_t low, std::size_t high) {
        if (low >= high)
            throw std::invalid_argument("watermark_buffer: low is " + std::to_string(low)
                                        + ", allowed is 0 to high - 1 = " + std::to_string(high - 1));
        return low;
    }
};

} // namespace ekiden::inline EKIDEN_ABI

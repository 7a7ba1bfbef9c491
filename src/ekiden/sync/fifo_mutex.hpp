/// A mutex that threads lock exactly in the order of their calls of lock().
///
/// Part: sync. Used by: users whose requests must be processed in order of arrival. An unlock hands the mutex
/// to the next thread, which costs a context switch. If sections are short and many threads compete, a
/// fifo_mutex is far slower than `mutex` (a lock convoy).
#pragma once

#include <ekiden/sync/detail/mutex_base.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace ekiden::inline EKIDEN_ABI {

/// A mutex that threads lock in the order of their calls. A fifo_mutex has the operations of mutex_base.
///
/// In one atomic step, a call locks the mutex or joins the queue. The order of these steps is the order of
/// the calls. If a call gives up, it leaves the queue, and the order of the other calls is unchanged.
class fifo_mutex : public mutex_base {
public:
    constexpr fifo_mutex() noexcept : mutex_base(in_order) {}

    /// Locks the mutex like lock(). Returns the number of the call in the order of arrival, modulo `numbers`.
    /// The atomic step that fixes the place of the call in the order also assigns the number. So the numbers
    /// follow the order in which threads lock the mutex.
    std::uint32_t lock_numbered() noexcept {
        note_.wanted(lock_.name(), "lock_numbered");
        const std::uint32_t number = lock_.enter_numbered(free).number;
        note_.taken(sys::hold::alone, lock_.name());
        return number;
    }
    /// Locks the mutex like lock_numbered(). Gives up when `limit` is reached. Returns an empty optional if
    /// the mutex was not locked. If a call joins the queue and then gives up, the number of this call is not
    /// used again.
    [[nodiscard]] std::optional<std::uint32_t> lock_numbered(const wait_limit& limit) noexcept {
        const auto [is_granted, number] = lock_.enter_numbered(free, limit);
        if (!note_.taken_if(is_granted, sys::hold::alone_tried, lock_.name())) return std::nullopt;
        return number;
    }
    /// Locks the mutex like lock_numbered(limit), where the limit is a duration.
    [[nodiscard]] std::optional<std::uint32_t> try_lock_numbered_for(const wait_duration& duration) {
        return lock_numbered(duration);
    }
    /// Locks the mutex like lock_numbered(limit), where the limit is a deadline.
    [[nodiscard]] std::optional<std::uint32_t> try_lock_numbered_until(const wait_deadline& deadline) {
        return lock_numbered(deadline);
    }
    /// The modulus of the arrival numbers.
    static constexpr std::uint32_t numbers = state_lock::max_payload + 1;

    /// Returns the largest number of waiting threads that an unlock has found so far. Any thread may call
    /// this function.
    [[nodiscard]] std::size_t longest_queue() const noexcept { return lock_.longest_queue(); }

private:
    static constexpr state_rules in_order{
        .hand_over_after = std::chrono::nanoseconds(0), .counts_arrivals = true, .name = "a fifo_mutex"};
};

} // namespace ekiden::inline EKIDEN_ABI

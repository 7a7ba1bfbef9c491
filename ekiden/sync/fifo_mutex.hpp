/// A mutex that is taken exactly in the order of the calls to lock.
///
/// Part: sync. Used by: users whose requests are processed in order of arrival. The mutex is handed over, and
/// the order costs a context switch per hand-over: with short sections and many threads it is far slower than
/// `mutex` (a lock convoy).
#pragma once

#include <ekiden/sync/mutex_base.hpp>

#include <cstddef>

namespace ekiden::inline EKIDEN_ABI {

/// Its operations are those of mutex_base. A call's place in the order is fixed by the one atomic step in
/// which it either takes the mutex or joins the queue. A call that gives up leaves the queue; the order of
/// the others stays.
class fifo_mutex : public mutex_base {
public:
    constexpr fifo_mutex() noexcept : mutex_base(in_order) {}

    /// As lock, and returns this call's arrival number, counted modulo `numbers` over the calls of
    /// lock_numbered. Taken in the same atomic step: successive owners have successive numbers.
    std::uint32_t lock_numbered() noexcept {
        note_.wanted(lock_.name(), "lock_numbered");
        const std::uint32_t number = lock_.enter_numbered(free);
        note_.taken(sys::hold::alone, lock_.name());
        return number;
    }
    /// How many arrival numbers there are.
    static constexpr std::uint32_t numbers = state_lock::max_payload + 1;

    /// The longest queue that an unlock has found so far. Any thread.
    [[nodiscard]] std::size_t longest_queue() const noexcept { return lock_.longest_queue(); }

private:
    static constexpr state_rules in_order{
        .hand_over_after = std::chrono::nanoseconds(0), .counts_arrivals = true, .name = "a fifo_mutex"};
};

} // namespace ekiden::inline EKIDEN_ABI

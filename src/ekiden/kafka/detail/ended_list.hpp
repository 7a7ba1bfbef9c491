/// The records that lanes have returned and that the polling thread has not handled yet.
///
/// Part: kafka. Used by: worker_core. Private.
#pragma once

#include <ekiden/kafka/detail/held_record.hpp>
#include <ekiden/sync/mutex.hpp>

#include <cstddef>
#include <mutex>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

/// Thread safety: all members may be called concurrently.
class ended_list {
public:
    static constexpr std::size_t never = ~std::size_t{0};

    /// Appends a record. Returns whether the polling thread must be woken: the list has as many records as
    /// arm() has stated. Then the list is not armed any more.
    [[nodiscard]] bool push(held_record& r) {
        r.next = nullptr;
        const std::scoped_lock hold(lock_);
        (last_ == nullptr ? first_ : last_->next) = &r;
        last_ = &r;
        if (++count_ < wake_at_) return false;
        wake_at_ = never;
        return true;
    }
    /// Removes all records and returns them as a list, oldest first. Sets the number of records that wakes
    /// the polling thread.
    [[nodiscard]] held_record* take(std::size_t wake_at) {
        const std::scoped_lock hold(lock_);
        wake_at_ = wake_at;
        count_ = 0;
        last_ = nullptr;
        return std::exchange(first_, nullptr);
    }
    /// Sets the number of records that wakes the polling thread. Returns true if the list has as many
    /// already.
    [[nodiscard]] bool arm(std::size_t wake_at) {
        const std::scoped_lock hold(lock_);
        wake_at_ = count_ >= wake_at ? never : wake_at;
        return count_ >= wake_at;
    }

private:
    mutex lock_;
    held_record* first_ = nullptr;
    held_record* last_ = nullptr;
    std::size_t count_ = 0;
    std::size_t wake_at_ = never;
};

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail

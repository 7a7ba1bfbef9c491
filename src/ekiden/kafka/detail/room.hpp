/// The room for pending records, bounded by their number and their bytes.
///
/// Part: kafka. Used by: poster. Private.
#pragma once

#include <ekiden/sync/event.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/lock.hpp>

#include <cstddef>
#include <mutex>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

/// Counts the records that are pending. Threads that wait for room get it in the order of their arrival.
class room {
public:
    enum class answer { entered, full, closed };

    room(std::size_t records, std::size_t bytes) noexcept : records_limit_(records), bytes_limit_(bytes) {}

    /// Adds a record if there is room and no thread waits.
    [[nodiscard]] answer try_enter(std::size_t bytes) noexcept {
        const std::lock_guard inside(lock_);
        if (closed_) return answer::closed;
        if (first_ != nullptr || !fits(bytes)) return answer::full;
        add(bytes);
        return answer::entered;
    }
    /// Adds a record, if necessary beyond the limits.
    [[nodiscard]] answer enter_beyond(std::size_t bytes) noexcept {
        const std::lock_guard inside(lock_);
        if (closed_) return answer::closed;
        add(bytes);
        return answer::entered;
    }
    /// Adds a record. Waits for room.
    [[nodiscard]] answer enter(std::size_t bytes) noexcept {
        waiter self{bytes};
        {
            const std::lock_guard inside(lock_);
            if (closed_) return answer::closed;
            if (first_ == nullptr && fits(bytes)) {
                add(bytes);
                return answer::entered;
            }
            (last_ == nullptr ? first_ : last_->next) = &self;
            last_ = &self;
            ++waits_;
        }
        self.decided.wait();
        return self.has_entered ? answer::entered : answer::closed;
    }
    /// Removes one record.
    void leave(std::size_t bytes) noexcept {
        const std::lock_guard inside(lock_);
        --records_;
        bytes_ -= bytes;
        while (first_ != nullptr && fits(first_->bytes)) {
            add(first_->bytes);
            dismiss_first(true);
        }
        if (records_ == 0) empty_.set();
    }
    /// Refuses further records, also those of waiting threads.
    void close() noexcept {
        const std::lock_guard inside(lock_);
        closed_ = true;
        while (first_ != nullptr) dismiss_first(false);
    }

    /// Waits until there is no record.
    [[nodiscard]] bool wait_empty(const wait_limit& limit) const noexcept { return empty_.wait(limit); }
    [[nodiscard]] bool is_empty() const noexcept { return empty_.is_set(); }

    struct usage {
        std::size_t records;
        std::size_t bytes;
        std::size_t waits;
    };
    [[nodiscard]] usage used() const noexcept {
        const std::lock_guard inside(lock_);
        return {records_, bytes_, waits_};
    }

private:
    struct waiter {
        explicit waiter(std::size_t size) noexcept : bytes(size) {}
        const std::size_t bytes;
        waiter* next = nullptr;
        bool has_entered = false;
        event decided;
    };

    [[nodiscard]] bool fits(std::size_t bytes) const noexcept {
        return records_ == 0
               || (records_ < records_limit_ && bytes_ < bytes_limit_ && bytes <= bytes_limit_ - bytes_);
    }
    void add(std::size_t bytes) noexcept {
        if (records_++ == 0) empty_.reset();
        bytes_ += bytes;
    }
    void dismiss_first(bool has_entered) noexcept {
        waiter& served = *first_;
        first_ = served.next;
        if (first_ == nullptr) last_ = nullptr;
        served.has_entered = has_entered;
        served.decided.set(); // the thread may destroy its waiter now
    }

    const std::size_t records_limit_;
    const std::size_t bytes_limit_;
    mutable sys::slow_lock lock_;
    std::size_t records_ = 0;
    std::size_t bytes_ = 0;
    std::size_t waits_ = 0;
    bool closed_ = false;
    waiter* first_ = nullptr;
    waiter* last_ = nullptr;
    event empty_{true};
};

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail

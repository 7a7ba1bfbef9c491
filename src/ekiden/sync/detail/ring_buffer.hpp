/// A first-in-first-out queue of fixed capacity. Only one thread at a time may use the queue.
///
/// Part: sync. Used by: bounded_buffer, watermark_buffer.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A queue of up to `capacity` objects in memory that is allocated once. The queue is not thread-safe.
template <class T>
class ring_buffer {
public:
    /// Constructs an empty queue. Throws std::bad_alloc.
    explicit ring_buffer(std::size_t capacity)
        : capacity_(capacity), items_(std::allocator<T>().allocate(capacity)) {}
    ring_buffer(const ring_buffer&) = delete;
    ring_buffer& operator=(const ring_buffer&) = delete;
    ~ring_buffer() {
        while (size_ > 0) drop();
        std::allocator<T>().deallocate(items_, capacity_);
    }

    /// Adds an item. The buffer must not be full. Has no effect if T's constructor throws.
    void push(T&& item) {
        std::construct_at(items_ + tail_, std::move(item));
        tail_ = after(tail_);
        ++size_;
    }
    /// Returns the oldest item. The buffer must not be empty.
    [[nodiscard]] T& front() noexcept { return items_[head_]; }
    /// Destroys the oldest item. The buffer must not be empty.
    void drop() noexcept {
        std::destroy_at(items_ + head_);
        head_ = after(head_);
        --size_;
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

private:
    std::size_t after(std::size_t place) const noexcept { return place + 1 == capacity_ ? 0 : place + 1; }

    std::size_t capacity_;
    T* items_;
    std::size_t head_ = 0;
    std::size_t tail_ = 0;
    std::size_t size_ = 0;
};

} // namespace ekiden::inline EKIDEN_ABI

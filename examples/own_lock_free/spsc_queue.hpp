// A bounded queue with one producer thread and one consumer thread.
#pragma once

#include <ekiden/check/checkable.hpp>

#include <array>
#include <cstddef>
#include <optional>

template <class T, std::size_t capacity>
class spsc_queue {
    static_assert((capacity & (capacity - 1)) == 0, "the counters wrap around");

public:
    explicit spsc_queue(std::size_t first = 0) : head_(first), tail_(first) {}

    bool try_push(T value) {
        const std::size_t tail = tail_.load(std::memory_order_relaxed);
        if (tail - head_.load(std::memory_order_acquire) == capacity) return false;
        slots_[tail % capacity].write(value);
        tail_.store(tail + 1, std::memory_order_release);
        return true;
    }

    std::optional<T> try_pop() {
        const std::size_t head = head_.load(std::memory_order_relaxed);
        if (head
            == tail_.load(EKIDEN_MUTANT(pop_does_not_acquire) ? std::memory_order_relaxed
                                                              : std::memory_order_acquire))
            return std::nullopt;
        const T value = slots_[head % capacity].read();
        head_.store(head + 1, std::memory_order_release);
        return value;
    }

private:
    std::array<ekiden::checkable::cell<T>, capacity> slots_{};
    ekiden::checkable::atomic<std::size_t> head_; // of the next to pop
    ekiden::checkable::atomic<std::size_t> tail_; // of the next to push
};

// A stack of free places, 0 to size - 1: R. K. Treiber, "Systems Programming: Coping with Parallelism", 1986.
// The counter in the head changes with each removal. So an equal head always means an unchanged stack.
#pragma once

#include <ekiden/check/checkable.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

template <std::size_t size>
class treiber_stack {
public:
    treiber_stack() {
        for (std::uint32_t i = 0; i < size; ++i) give_back(i);
    }

    std::optional<std::uint32_t> take() {
        std::uint64_t head = head_.load(std::memory_order_acquire);
        while (top(head) != none) {
            const std::uint32_t next = next_[top(head)].load(std::memory_order_acquire);
            const std::uint32_t takes = EKIDEN_MUTANT(take_does_not_count) ? 0 : count(head) + 1;
            if (head_.compare_exchange_weak(head, pack(next, takes), std::memory_order_relaxed,
                                            std::memory_order_acquire))
                return top(head);
        }
        return std::nullopt;
    }

    void give_back(std::uint32_t place) {
        std::uint64_t head = head_.load(std::memory_order_acquire);
        do {
            next_[place].store(top(head), std::memory_order_relaxed);
        } while (!head_.compare_exchange_weak(head, pack(place, count(head)), std::memory_order_release,
                                              std::memory_order_acquire));
    }

private:
    static constexpr std::uint32_t none = UINT32_MAX;
    static std::uint32_t top(std::uint64_t head) { return static_cast<std::uint32_t>(head); }
    static std::uint32_t count(std::uint64_t head) { return static_cast<std::uint32_t>(head >> 32); }
    static std::uint64_t pack(std::uint32_t top, std::uint32_t count) {
        return std::uint64_t{count} << 32 | top;
    }

    std::array<ekiden::checkable::atomic<std::uint32_t>, size> next_{};
    ekiden::checkable::atomic<std::uint64_t> head_{none};
};

/// The next tasks of a worker: taken from a ring in one step. Every other worker can take them, too.
///
/// Part: queue. Used by: pool (one per worker).
#pragma once

#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/mutant.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ekiden::inline EKIDEN_ABI {

/// Up to `most` tasks. Any thread takes the oldest, and each task is taken exactly once. One thread at a
/// time, the owner, fills the batch when it is empty.
class alignas(sys::isolation) task_batch {
public:
    static constexpr std::size_t most = 64;

    /// Owner, when its take() has found the batch empty: adds up to `most` tasks.
    void fill(std::span<task* const> tasks) noexcept {
        std::size_t slot = most - tasks.size();
        for (task* const one : tasks) slots_[slot++].store(one, sys::relaxed);
        const std::uint64_t generation = (word_.load(sys::relaxed) >> left_bits) + 1;
        // [TB1] Release: publishes the tasks and their slots. Pairs with the acquire in take().
        word_.store((EKIDEN_MUTANT(batch_repeats_itself) ? 0 : generation << left_bits) | tasks.size(),
                    sys::release);
    }

    /// Any thread: takes the oldest task, or returns null if there is none.
    [[nodiscard]] task* take() noexcept {
        // [TB1] Acquire: the tasks. Pairs with the release in fill(). [TB2] Acquire: the owner that finds the
        // batch empty sees that each reader of a slot has finished.
        std::uint64_t word = word_.load(sys::acquire);
        while (left(word) != 0) {
            // The owner may overwrite the slot meanwhile. Then word_ has changed, and the exchange fails.
            task* const oldest = slots_[most - left(word)].load(sys::relaxed);
            // [TB2] Release: the read of the slot. Pairs with the acquire above. Success needs no acquire,
            // because the load before has acquired: the exchange continues the release sequence of fill().
            if (word_.compare_exchange_weak(word, word - 1, sys::release, sys::acquire)
                || EKIDEN_MUTANT(batch_take_ignores_others))
                return oldest;
        }
        return nullptr;
    }

    /// Any thread: returns false if the batch was empty a moment ago. A hint: orders nothing.
    [[nodiscard]] bool maybe_filled() const noexcept { return left(word_.load(sys::relaxed)) != 0; }

private:
    static constexpr unsigned left_bits = 7;

    [[nodiscard]] static std::size_t left(std::uint64_t word) noexcept {
        return word & ((std::uint64_t{1} << left_bits) - 1);
    }

    // The number of fillings, so that no value is repeated, and the number of tasks left.
    sys::atomic<std::uint64_t> word_{0};
    std::array<sys::atomic<task*>, most> slots_{};
};

} // namespace ekiden::inline EKIDEN_ABI

/// The next tasks of a worker. The worker has taken these tasks from a ring in one step. Every other worker
/// can also take tasks from the batch.
///
/// Part: queue. Used by: pool. Each worker has one batch.
#pragma once

#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/mutant.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ekiden::inline EKIDEN_ABI {

/// A batch of up to `most` tasks. Any thread may take the oldest task. Each task is taken exactly once. One
/// thread at a time is the owner. The owner fills the batch when the batch is empty.
class alignas(sys::isolation) task_batch {
public:
    static constexpr std::size_t most = 64;

    /// Adds up to `most` tasks. Called by the owner after its take() has found the batch empty.
    void fill(std::span<task* const> tasks) noexcept {
        std::size_t slot = most - tasks.size();
        for (task* const one : tasks) slots_[slot++].store(one, sys::relaxed);
        const std::uint64_t generation = (word_.load(sys::relaxed) >> left_bits) + 1;
        // [TB1] Release: publishes the tasks and their slots. Pairs with the acquire in take().
        word_.store((EKIDEN_MUTANT(batch_repeats_itself) ? 0 : generation << left_bits) | tasks.size(),
                    sys::release);
    }

    /// Any thread: takes the oldest task. Returns null if the batch is empty.
    [[nodiscard]] task* take() noexcept {
        // [TB1] Acquire: sees the tasks that fill() has stored. Pairs with the release in fill(). [TB2]
        // Acquire: ensures that all threads have finished reading the slots when the owner finds the batch
        // empty. Pairs with the release below.
        std::uint64_t word = word_.load(sys::acquire);
        while (left(word) != 0) {
            // The owner may overwrite the slot during this load. In this case, word_ has changed, and the
            // exchange below fails.
            task* const oldest = slots_[most - left(word)].load(sys::relaxed);
            // [TB2] Release: orders the read of the slot before the exchange. Pairs with the acquire above.
            // An exchange that succeeds needs no acquire order, because the load that read this value had
            // acquire order. Later takes also see the tasks, because the exchange continues the release
            // sequence of fill().
            if (word_.compare_exchange_weak(word, word - 1, sys::release, sys::acquire)
                || EKIDEN_MUTANT(batch_take_ignores_others))
                return oldest;
        }
        return nullptr;
    }

    /// Any thread: returns how many tasks the batch had a moment ago. The result is a hint, and the call
    /// orders nothing.
    [[nodiscard]] std::size_t size() const noexcept { return left(word_.load(sys::relaxed)); }
    /// Any thread: returns size() != 0.
    [[nodiscard]] bool maybe_filled() const noexcept { return size() != 0; }

private:
    static constexpr unsigned left_bits = 7;

    [[nodiscard]] static std::size_t left(std::uint64_t word) noexcept {
        return word & ((std::uint64_t{1} << left_bits) - 1);
    }

    // This word contains two numbers: how many tasks are left, and how often the batch was filled. The second
    // number ensures that word_ never has the same value twice.
    sys::atomic<std::uint64_t> word_{0};
    std::array<sys::atomic<task*>, most> slots_{};
};

} // namespace ekiden::inline EKIDEN_ABI

/// Memory of one execution: a bump allocator for the engine's records, and a tracked heap for the model.
///
/// Part: check (engine). All of it is dropped between executions, so that an execution can be abandoned at
/// any point. Freed blocks of the model's heap are poisoned. They are not reused within an execution, so that
/// late accesses are detected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ekiden::check {

/// Memory for the engine's records. It runs no destructors and is not zeroed.
class bump {
public:
    explicit bump(std::size_t capacity);
    ~bump();
    bump(const bump&) = delete;
    bump& operator=(const bump&) = delete;

    /// Returns null if it is full.
    void* allocate(std::size_t size, std::size_t alignment) noexcept;
    void reset() noexcept { used_ = 0; }
    [[nodiscard]] bool contains(const void* at) const noexcept {
        return static_cast<const char*>(at) >= base_ && static_cast<const char*>(at) < base_ + capacity_;
    }
    [[nodiscard]] std::size_t offset(const void* at) const noexcept {
        return static_cast<std::size_t>(static_cast<const char*>(at) - base_);
    }

private:
    char* base_;
    std::size_t capacity_;
    std::size_t used_ = 0;
};

/// The model's heap. operator new and delete use it while a model runs.
class tracked_heap {
public:
    struct block {
        char* start;
        std::size_t size;
        std::uint32_t number; // in order of allocation, starting at 1
        std::uint8_t thread;
        bool live;
        bool marked;
    };

    explicit tracked_heap(std::size_t capacity);

    void reset() noexcept;
    void* allocate(std::size_t size, std::size_t alignment, unsigned thread) noexcept;
    /// Returns false if `at` is not a live block (freed twice, or never allocated).
    [[nodiscard]] bool release(void* at) noexcept;
    [[nodiscard]] bool contains(const void* at) const noexcept { return memory_.contains(at); }
    /// Returns whether `at` lies in a freed block.
    [[nodiscard]] bool freed(const void* at) const noexcept {
        const std::size_t unit = memory_.offset(at) / granule;
        return (freed_[unit / 64] >> (unit % 64) & 1U) != 0;
    }
    [[nodiscard]] std::size_t live() const noexcept { return live_; }
    [[nodiscard]] const block* find(const void* at) const noexcept;
    /// Returns false if `b` is not live or is marked already.
    bool mark(const block& b) noexcept;
    [[nodiscard]] const block* first_unmarked() const noexcept; ///< of the live blocks

private:
    static constexpr std::size_t granule = 16;

    bump memory_;
    std::vector<block> blocks_; // in order of their addresses
    std::vector<std::uint64_t> freed_;
    std::size_t highest_ = 0; // the number of units that may have a freed bit
    std::size_t live_ = 0;
};

} // namespace ekiden::check

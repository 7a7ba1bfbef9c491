/// The memory of one execution: a bump allocator for the engine's records, and a tracked heap for the model.
///
/// Part: check (engine). The engine drops all of this memory between executions, so an execution can be
/// abandoned at any point. Freed blocks of the model's heap are poisoned. A freed block is not reused within
/// the same execution, so that later accesses to the block are detected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ekiden::check {

/// Memory for the engine's records. The memory is not zeroed, and no destructors of the records run.
class bump {
public:
    explicit bump(std::size_t capacity);
    ~bump();
    bump(const bump&) = delete;
    bump& operator=(const bump&) = delete;

    /// Returns null if no memory is left.
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
    /// Returns false if `at` is not a live block, because it was freed before or never allocated.
    [[nodiscard]] bool release(void* at) noexcept;
    [[nodiscard]] bool contains(const void* at) const noexcept { return memory_.contains(at); }
    /// Returns whether `at` lies in a freed block.
    [[nodiscard]] bool freed(const void* at) const noexcept {
        const std::size_t unit = memory_.offset(at) / granule;
        return (freed_[unit / 64] >> (unit % 64) & 1U) != 0;
    }
    [[nodiscard]] std::size_t live() const noexcept { return live_; }
    [[nodiscard]] const block* find(const void* at) const noexcept;
    /// Returns false if `b` is not live or is already marked.
    bool mark(const block& b) noexcept;
    /// Returns the first live block that is not marked, or null if there is none.
    [[nodiscard]] const block* first_unmarked() const noexcept;

private:
    static constexpr std::size_t granule = 16;

    bump memory_;
    std::vector<block> blocks_; // in order of their addresses
    std::vector<std::uint64_t> freed_;
    std::size_t highest_ = 0; // number of units that may have a set bit in freed_
    std::size_t live_ = 0;
};

} // namespace ekiden::check

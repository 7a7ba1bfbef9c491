/// Memory of one execution: bump allocation for the engine's own records, and a tracked heap for the model.
///
/// Part: check (engine). Everything is dropped at once between executions, so that an execution can be
/// abandoned at any point. Freed blocks of the model's heap are poisoned and never reused within an
/// execution, so that a late access is seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ekiden::check {

/// Memory without a destructor for the engine's records; not zeroed.
class bump {
public:
    explicit bump(std::size_t capacity);
    ~bump();
    bump(const bump&) = delete;
    bump& operator=(const bump&) = delete;

    /// Null when full.
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

/// The model's heap: operator new and delete while a model runs.
class tracked_heap {
public:
    struct block {
        char* start;
        std::size_t size;
        std::uint32_t number; // in order of allocation, from 1
        std::uint8_t thread;
        bool live;
        bool marked;
    };

    explicit tracked_heap(std::size_t capacity);

    void reset() noexcept;
    void* allocate(std::size_t size, std::size_t alignment, unsigned thread) noexcept;
    /// False if `at` is no live block (freed twice, or never allocated).
    [[nodiscard]] bool release(void* at) noexcept;
    [[nodiscard]] bool contains(const void* at) const noexcept { return memory_.contains(at); }
    /// True if `at` lies in a block that has been freed.
    [[nodiscard]] bool freed(const void* at) const noexcept {
        const std::size_t unit = memory_.offset(at) / granule;
        return (freed_[unit / 64] >> (unit % 64) & 1U) != 0;
    }
    [[nodiscard]] std::size_t live() const noexcept { return live_; }
    [[nodiscard]] const block* find(const void* at) const noexcept;
    /// False if `b` is not live or has been marked before.
    bool mark(const block& b) noexcept;
    [[nodiscard]] const block* first_unmarked() const noexcept; ///< of the live ones

private:
    static constexpr std::size_t granule = 16;

    bump memory_;
    std::vector<block> blocks_; // ascending by address
    std::vector<std::uint64_t> freed_;
    std::size_t highest_ = 0; // units that may have a freed bit
    std::size_t live_ = 0;
};

} // namespace ekiden::check

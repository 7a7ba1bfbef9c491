/// The random test's data about each callable that it passes to a pool, and about what each thread is doing.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace pool_random {

/// Random decisions. Each thread and each task has its own generator, seeded by its creator, so that
/// decisions do not depend on timing.
class generator {
public:
    explicit generator(std::uint64_t seed) noexcept : state_(seed) {}

    /// The splitmix64 generator.
    std::uint64_t next() noexcept {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }
    /// Returns a number from 0 to n - 1.
    unsigned below(unsigned n) noexcept { return static_cast<unsigned>(next() % n); }
    bool chance(unsigned percent) noexcept { return below(100) < percent; }

private:
    std::uint64_t state_;
};

// ---- failures and progress

/// Prints what is wrong, how to repeat this round, and what each thread is doing. Then aborts.
[[noreturn]] void fail(const char* what, long got = 0, long wanted = 0);
inline void require(bool holds, const char* what, long got = 0, long wanted = 0) {
    if (!holds) [[unlikely]]
        fail(what, got, wanted);
}

/// While it exists, reports show that the calling thread does `what`.
class doing {
public:
    explicit doing(const char* what) noexcept;
    ~doing();
    doing(const doing&) = delete;
    doing& operator=(const doing&) = delete;

private:
    const char* before_ = nullptr;
};

/// Sets the numbers for repeating a round that a failure prints.
void set_replay(std::uint64_t seed, std::uint64_t round) noexcept;
/// Starts a thread that aborts with a report when no action has begun or ended for `seconds`. 0: never.
void start_watchdog(unsigned seconds);

// ---- callables

/// The counts of the callables with the same origin.
struct tally {
    std::atomic<std::int64_t> made{0};
    std::atomic<std::int64_t> ended{0};
};

enum class fate : std::uint8_t { unknown, accepted, refused };

/// One task: how often it ran, and how many callables of it exist.
struct record {
    std::atomic<int> alive{0};
    std::atomic<int> runs{0};
    std::atomic<fate> told{fate::unknown}; // reported by post() or by the future
    bool must_run = false;                 // if it is accepted, because its pool is never stopped
    tally* origin = nullptr;
    const std::atomic<bool>* stopped = nullptr; // whether its pool has been stopped
};

/// The records of a round, which exist until its end.
class ledger {
public:
    explicit ledger(std::size_t most) : records_(most) {}

    /// Returns null if there are too many. Then the round stops creating tasks.
    record* add(tally& origin, const std::atomic<bool>& stopped, bool must_run) noexcept;
    /// Checks the records. Call it after everything has ended.
    void check() const;
    [[nodiscard]] std::size_t size() const noexcept { return std::min(used_.load(), records_.size()); }

private:
    std::vector<record> records_;
    std::atomic<std::size_t> used_{0};
};

/// A member of each callable. It counts the copies, and detects objects that are destroyed twice or moved
/// after their destruction.
class token {
public:
    explicit token(record& of) noexcept : record_(&of) {
        of.origin->made.fetch_add(1, std::memory_order_relaxed);
        of.alive.fetch_add(1, std::memory_order_relaxed);
    }
    token(token&& other) noexcept : record_(std::exchange(other.checked().record_, nullptr)) {}
    token(const token& other) noexcept : record_(other.checked().record_) {
        require(record_ != nullptr, "an empty callable was copied");
        record_->alive.fetch_add(1, std::memory_order_relaxed);
    }
    token& operator=(const token&) = delete;
    ~token() {
        checked().mark_ = dead;
        if (record_ == nullptr) return;
        tally& origin = *record_->origin;
        const int before = record_->alive.fetch_sub(1, std::memory_order_acq_rel);
        require(before >= 1, "a callable was destroyed more often than made", before);
        if (before == 1) origin.ended.fetch_add(1, std::memory_order_release);
    }

    /// Records a call of the callable.
    record& begin() {
        checked();
        require(record_ != nullptr, "a callable was called after it had been moved");
        record_->runs.fetch_add(1, std::memory_order_relaxed);
        return *record_;
    }

private:
    static constexpr std::uint32_t living = 0x600dda7e;
    static constexpr std::uint32_t dead = 0xdeadf00d;

    token& checked() noexcept {
        require(mark_ == living, "a callable was used that is no more", mark_, living);
        return *this;
    }
    const token& checked() const noexcept {
        require(mark_ == living, "a callable was used that is no more", mark_, living);
        return *this;
    }

    std::uint32_t mark_ = living;
    record* record_;
};

} // namespace pool_random

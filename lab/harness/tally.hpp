/// Counts finished tasks with one counter per thread, so that counting does not synchronize threads.
///
/// Used by: lanes, io-models. One thread waits for a number by polling the counters.
#pragma once

#include <lab/harness/cell.hpp>
#include <lab/harness/usage.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <forward_list>
#include <mutex>
#include <string>
#include <thread>

namespace lab {

/// The only tally of the process, because each thread finds its counter through a thread-local variable. It
/// is never reset, so compare two readings. hit() and count() are thread-safe.
class tally {
public:
    static tally& instance() {
        // Never destroyed: a faulty system may run tasks after statics are destroyed.
        static tally* const one = new tally;
        return *one;
    }

    /// Records that one task has run.
    void hit() noexcept {
        static thread_local counter& mine = add();
        mine.value.store(mine.value.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }

    [[nodiscard]] std::uint64_t count() const {
        const std::lock_guard lock(mutex_);
        std::uint64_t sum = 0;
        for (const counter& each : counters_) sum += each.value.load(std::memory_order_acquire);
        return sum;
    }

    /// Waits until the count is `expected`. Fails the cell if nothing happens within its patience.
    void wait(const cell& c, std::uint64_t expected) const {
        const auto patience_ns = static_cast<std::uint64_t>(c.patience_s() * 1e9);
        std::uint64_t before = count();
        std::uint64_t changed_ns = now_ns();
        for (std::uint64_t now = before; now < expected; now = count()) {
            if (now != before) changed_ns = now_ns();
            before = now;
            if (now_ns() - changed_ns > patience_ns) fail(c, now, expected);
            std::this_thread::sleep_for(poll_interval);
        }
        check(c, expected);
    }

    /// Fails the cell unless the count is `expected`.
    void check(const cell& c, std::uint64_t expected) const {
        if (const std::uint64_t now = count(); now != expected) fail(c, now, expected);
    }

private:
    struct alignas(128) counter {
        std::atomic<std::uint64_t> value{0};
    };

    static constexpr std::chrono::microseconds poll_interval{200};

    tally() = default;

    counter& add() {
        const std::lock_guard lock(mutex_);
        return counters_.emplace_front();
    }

    [[noreturn]] static void fail(const cell& c, std::uint64_t count, std::uint64_t expected) {
        c.fail(std::to_string(count) + " tasks ran where " + std::to_string(expected) + " were posted");
    }

    mutable std::mutex mutex_;
    std::forward_list<counter> counters_;
};

} // namespace lab

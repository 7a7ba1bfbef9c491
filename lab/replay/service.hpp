/// The service of a request in each model: its work, and the proof that it was done once and in order.
///
/// Used by: experiment replay. Thread-safe if the model keeps its promise, which is what it proves.
#pragma once

#include <lab/harness/busy.hpp>
#include <lab/harness/usage.hpp>
#include <lab/replay/schedule.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace lab::replay {

/// The promise of a model for the requests of one key.
enum class promise {
    nothing,   // any order, at the same time; the service locks the key for its last step
    exclusive, // one at a time, in any order
    order      // one at a time, in the order of arrival
};

class service {
public:
    explicit service(const schedule& offered)
        : offers_(offered.offers), ends_ns_(offered.offers.size()), keys_(offered.keys) {}

    [[nodiscard]] std::uint32_t key(std::size_t index) const { return offers_[index].key; }

    /// Serves request `index`. A `Guard` exists while the request waits without a processor. It tells the
    /// model's pool that the thread blocks.
    template <promise Promise, class Guard = std::nullopt_t>
    void serve(std::size_t index) {
        const offer& asked = offers_[index];
        account& of = keys_[asked.key];
        if constexpr (Promise != promise::nothing)
            if (of.is_busy.exchange(true, std::memory_order_relaxed))
                met_.fetch_add(1, std::memory_order_relaxed);
        const std::uint64_t result = turn(asked.turns, index);
        if (asked.block_ns > 0) wait<Guard>(asked.block_ns);
        if constexpr (Promise == promise::nothing) {
            const std::lock_guard lock(of.mutex);
            of.book(index, result);
        } else {
            of.book(index, result);
            of.is_busy.store(false, std::memory_order_relaxed);
        }
        ends_ns_[index] = now_ns();
        served_.fetch_add(1, std::memory_order_release);
    }

    [[nodiscard]] std::size_t served() const { return served_.load(std::memory_order_acquire); }

    /// Returns when request `index` was served, on the steady clock. Call it after served() has counted it.
    [[nodiscard]] std::uint64_t end_ns(std::size_t index) const { return ends_ns_[index]; }

    /// Checks the results after the first `count` requests have been offered and served. Returns nothing, or
    /// a sentence that describes the fault.
    [[nodiscard]] std::optional<std::string> find_fault(std::size_t count, promise promised) const {
        if (met_.load() > 0)
            return std::to_string(met_.load())
                   + " requests met another one of their key inside of the service";
        std::vector<account> expected(keys_.size());
        for (std::size_t i = 0; i < count; ++i) expected[offers_[i].key].book(i, turn(offers_[i].turns, i));
        for (std::size_t k = 0; k < keys_.size(); ++k) {
            const account& is = keys_[k];
            const account& should = expected[k];
            if (is.count != should.count || is.sum != should.sum)
                return "key " + std::to_string(k) + ": " + std::to_string(is.count) + " of "
                       + std::to_string(should.count) + " requests, or a wrong result";
            if (promised == promise::order && is.digest != should.digest)
                return "key " + std::to_string(k) + ": not served in the order of arrival";
        }
        return std::nullopt;
    }

    /// Returns how many requests were served after a later request of their key.
    [[nodiscard]] std::uint64_t overtaken() const {
        std::uint64_t all = 0;
        for (const account& a : keys_) all += a.overtaken;
        return all;
    }

private:
    /// The account of a key, which the requests change.
    struct account {
        std::mutex mutex; // only used if the model promises nothing
        std::atomic<bool> is_busy{false};
        std::uint64_t count = 0;
        std::uint64_t sum = 0;    // sum of the results, in any order
        std::uint64_t digest = 0; // hash of the requests' indices in their order
        std::uint64_t latest = 0; // the latest request that was served, from 1
        std::uint64_t overtaken = 0;

        void book(std::size_t index, std::uint64_t result) {
            ++count;
            sum += result;
            digest = (digest + index + 1) * 0x9E3779B97F4A7C15ULL;
            if (index + 1 < latest)
                ++overtaken;
            else
                latest = index + 1;
        }
    };

    template <class Guard>
    static void wait(std::uint64_t ns) {
        if constexpr (std::is_same_v<Guard, std::nullopt_t>) {
            std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
        } else {
            const Guard guard;
            std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
        }
    }

    const std::vector<offer>& offers_;
    std::vector<std::uint64_t> ends_ns_;
    std::vector<account> keys_;
    std::atomic<std::size_t> served_{0};
    std::atomic<std::uint64_t> met_{0};
};

} // namespace lab::replay

/// Experiment bursts. A thread repeatedly distributes a few short blocks of work, runs one itself and waits
/// for the rest. In between, it works alone.
#pragma once

#include <lab/harness/busy.hpp>
#include <lab/harness/cell.hpp>
#include <lab/harness/statistics.hpp>
#include <lab/harness/task_system.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace lab::bursts {

/// The meaning of a variant's name: "4 blocks, 50 us".
struct setting {
    std::size_t blocks = 0;
    double between_us = 0;
};

inline setting parse(const std::string& variant) {
    setting s;
    std::istringstream in(variant);
    std::string word;
    in >> s.blocks >> word >> s.between_us;
    return s;
}

/// How users of pools wait for a few tasks: the last task wakes the waiting thread. Like Eigen::Barrier.
class countdown {
public:
    explicit countdown(std::size_t count) : left_(count) {}

    void hit() {
        if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        const std::lock_guard guard(lock_);
        is_over_ = true;
        over_.notify_one();
    }
    void wait() {
        std::unique_lock guard(lock_);
        over_.wait(guard, [this] { return is_over_; });
    }

private:
    std::atomic<std::size_t> left_;
    std::mutex lock_;
    std::condition_variable over_;
    bool is_over_ = false;
};

/// Calls System::burst(n, block) if the system has its own way to wait for these tasks.
template <class System, class Block>
void burst(System& system, std::size_t blocks, const Block& block) {
    if constexpr (requires { system.burst(blocks, block); }) {
        system.burst(blocks, block);
    } else {
        countdown done(blocks - 1);
        for (std::size_t i = 1; i != blocks; ++i)
            system.post([&block, &done, i] {
                block(i);
                done.hit();
            });
        block(0);
        done.wait();
    }
}

/// One repetition: bursts for about 200 ms. The figures are medians over the bursts.
template <class System>
repetition once(cell& c, const setting& s, System& system) {
    constexpr double block_us = 5;
    const auto us = [&c](double length) {
        return static_cast<std::uint64_t>(length * c.asked().turns_per_us);
    };
    const std::size_t bursts =
        c.asked().scale == scale::smoke
            ? 5
            : static_cast<std::size_t>(200'000 / (block_us * static_cast<double>(s.blocks) + s.between_us));
    std::vector<std::atomic<std::size_t>> done(s.blocks);
    const auto block = [&done, turns = us(block_us)](std::size_t i) {
        static_cast<void>(turn(turns, i));
        done[i].fetch_add(1, std::memory_order_relaxed);
    };
    std::vector<double> took_us;
    took_us.reserve(bursts);
    repetition found;
    found.used = c.measure([&] {
        for (std::size_t k = 0; k != bursts; ++k) {
            if (s.between_us > 0) static_cast<void>(turn(us(s.between_us), k));
            const std::uint64_t begin = now_ns();
            burst(system, s.blocks, block);
            took_us.push_back(static_cast<double>(now_ns() - begin) / 1e3);
        }
    });
    for (const auto& count : done)
        if (count.load() != bursts) c.fail("a block is missing or was made twice");
    std::sort(took_us.begin(), took_us.end());
    double sum_us = 0;
    for (const double one : took_us) sum_us += one;
    const double number = static_cast<double>(bursts);
    found.figures = {{"us", quantile(took_us, 0.5)},
                     {"p90_us", quantile(took_us, 0.9)},
                     {"mean_us", sum_us / number},
                     {"cpu_us", found.used.cpu_s() * 1e6 / number - s.between_us}};
    return found;
}

template <class System>
void run(cell& c) {
    System system(c.workers());
    const setting s = parse(c.asked().variant);
    enter(system, [&] {
        static_cast<void>(once(c, s, system));
        for (unsigned r = 0; c.again(r); ++r) c.report(once(c, s, system));
    });
}

} // namespace lab::bursts

/// Experiment elastic-barrier: threads that enter and leave an elastic barrier, and work a little in between.
#pragma once

#include <lab/harness/together.hpp>

#include <atomic>
#include <string>

namespace lab::elastic_barrier {

template <class Barrier>
void run(cell& c) {
    const unsigned threads = c.asked().variant.starts_with("200") ? 200 : 20;
    const unsigned rounds = 200'000 / static_cast<unsigned>(c.pick(100, 10, 1)) / threads;
    for (unsigned r = 0; r < c.asked().repetitions; ++r) {
        Barrier barrier(threads);
        std::atomic<unsigned> entering{0};
        std::atomic<unsigned> leaving{0};
        std::atomic<bool> wrong{false};
        repetition found;
        found.used = together(c, threads, [&](unsigned) {
            for (unsigned i = 1; i <= rounds; ++i) {
                entering.fetch_add(1, std::memory_order_relaxed);
                barrier.enter();
                if (leaving.load(std::memory_order_relaxed) < (i - 1) * threads) wrong = true;
                leaving.fetch_add(1, std::memory_order_relaxed);
                barrier.leave();
                if (entering.load(std::memory_order_relaxed) < i * threads) wrong = true;
            }
        });
        if (wrong) c.fail("a thread left before all had entered, or entered before all had left");
        found.figures["elapsed_ms"] = found.used.wall_s * 1e3;
        found.figures["cpu_ms"] = found.used.cpu_s() * 1e3;
        c.report(found);
    }
}

} // namespace lab::elastic_barrier

/// Experiment barrier: threads that only meet at a barrier.
#pragma once

#include <lab/harness/busy_neighbour.hpp>
#include <lab/harness/together.hpp>

#include <atomic>
#include <string>

namespace lab::barrier {

template <class Barrier>
void run(cell& c) {
    const busy_neighbours neighbours(c.asked().variant);
    const std::string& variant = neighbours.variant();
    const unsigned threads = variant.starts_with("2,000") ? 2000
                             : variant.starts_with("200") ? 200
                             : variant.starts_with("20 ") ? 20
                                                          : 4;
    const unsigned passes = 200'000 / static_cast<unsigned>(c.pick(100, 10, 1));
    const unsigned rounds = std::max(1U, passes / threads);
    for (unsigned r = 0; r < c.asked().repetitions; ++r) {
        Barrier barrier(threads);
        std::atomic<unsigned> arrived{0};
        std::atomic<bool> early{false};
        repetition found;
        found.used = together(c, threads, [&](unsigned) {
            for (unsigned i = 1; i <= rounds; ++i) {
                arrived.fetch_add(1, std::memory_order_relaxed);
                barrier.arrive_and_wait();
                if (arrived.load(std::memory_order_relaxed) < i * threads) early = true;
            }
        });
        if (early) c.fail("a thread passed before all had come");
        found.figures["elapsed_ms"] = found.used.wall_s * 1e3;
        found.figures["cpu_ms"] = found.used.cpu_s() * 1e3;
        c.report(found);
    }
}

} // namespace lab::barrier

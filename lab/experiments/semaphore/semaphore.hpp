/// Experiment semaphore: threads that acquire and release a permit, and two threads that answer each other.
#pragma once

#include <lab/harness/busy_neighbour.hpp>
#include <lab/harness/together.hpp>

#include <atomic>
#include <string>

namespace lab::semaphore {

/// Four threads repeatedly acquire and release a permit.
template <class Semaphore>
void loop(cell& c, int permits) {
    constexpr unsigned threads = 4;
    const std::size_t rounds = c.pick(1'000, 500'000, 5'000'000);
    for (unsigned r = 0; r < c.asked().repetitions; ++r) {
        Semaphore semaphore(permits);
        std::atomic<int> inside{0};
        std::atomic<bool> wrong{false};
        repetition found;
        found.used = together(c, threads, [&](unsigned) {
            for (std::size_t i = 0; i < rounds; ++i) {
                semaphore.acquire();
                // Counts in one of 1,024 rounds, because counting costs as much as the semaphore.
                if (i % 1024 == 0) {
                    if (inside.fetch_add(1) >= permits) wrong = true;
                    inside.fetch_sub(1);
                }
                semaphore.release();
            }
        });
        if (wrong) c.fail("more threads were inside than there are permits");
        const auto turns = static_cast<double>(rounds * threads);
        found.figures["ns_per_turn"] = found.used.wall_s * 1e9 / turns;
        found.figures["cpu_ns_per_turn"] = found.used.cpu_s() * 1e9 / turns;
        c.report(found);
    }
}

/// Two threads that wait for each other's permit in turn.
template <class Semaphore>
void answers(cell& c) {
    const std::size_t rounds = c.pick(1'000, 50'000, 500'000);
    for (unsigned r = 0; r < c.asked().repetitions; ++r) {
        Semaphore questions(0);
        Semaphore replies(0);
        repetition found;
        found.used = together(c, 2, [&](unsigned me) {
            for (std::size_t i = 0; i < rounds; ++i) {
                if (me == 0) {
                    questions.release();
                    replies.acquire();
                } else {
                    questions.acquire();
                    replies.release();
                }
            }
        });
        found.figures["ns_per_turn"] = found.used.wall_s * 1e9 / static_cast<double>(rounds);
        found.figures["cpu_ns_per_turn"] = found.used.cpu_s() * 1e9 / static_cast<double>(rounds);
        c.report(found);
    }
}

template <class Semaphore>
void run(cell& c) {
    const busy_neighbours neighbours(c.asked().variant);
    const std::string& variant = neighbours.variant();
    if (variant == "answers") return answers<Semaphore>(c);
    loop<Semaphore>(c, variant == "1 permit" ? 1 : variant == "2 permits" ? 2 : 4);
}

} // namespace lab::semaphore

/// Experiment async-growth: rounds of 64 tasks that only wait.
///
/// A system under test has a `row`, the time after which its surplus threads end, and
///   explicit System(unsigned workers);
///   void run(std::size_t tasks, F body);   // calls body(i, pause) for each task; returns when all have
///   ended
/// where `pause(duration)` is how a task of this system waits.
#pragma once

#include <lab/experiments/async-growth/ekiden_view.hpp>
#include <lab/harness/cell.hpp>
#include <lab/harness/completion.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <thread>

namespace lab::async_growth {

inline constexpr std::size_t tasks = 64;

/// How long a surplus thread stays, if the system can set this.
inline constexpr std::chrono::milliseconds keep_alive(300);

/// Returns the current number of threads of this process.
inline std::size_t threads_of_this_process() {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

/// Runs one round. Returns how many threads took part.
template <class System>
std::size_t round(const cell& c, System& system, view& seen, std::chrono::milliseconds length) {
    attendance present(tasks);
    const std::size_t threads = seen.watch(tasks, [&](auto& live) {
        system.run(tasks, [&](std::size_t i, auto&& pause) {
            const view::task here(live, i);
            present.mark(i);
            pause(length);
        });
    });
    present.check(c);
    return threads;
}

template <class System>
void run(cell& c) {
    const bool long_tasks = c.asked().variant == "10 s";
    if (long_tasks && c.asked().scale == scale::quick)
        c.not_applicable("only in a full run: it takes minutes");
    if (long_tasks && System::is_slow) c.not_applicable("cannot grow: it would take minutes");
    const std::chrono::milliseconds length(c.pick(5, 200, long_tasks ? 10'000 : 1'000));
    const std::size_t rounds = long_tasks ? 1 : c.pick(2, System::is_slow ? 1 : 4, System::is_slow ? 1 : 7);
    for (unsigned r = 0; r < c.asked().repetitions; ++r) {
        repetition found;
        const std::size_t before = threads_of_this_process();
        {
            System system(c.workers());
            view seen(length / 5, c.asked().round == 0 && r == 0);
            std::size_t most = 0;
            for (std::size_t i = 0; i < rounds; ++i) {
                std::size_t threads = 0;
                const usage used = c.measure([&] { threads = round(c, system, seen, length); });
                if (i == 0) {
                    found.used = used;
                    found.figures["first_ms"] = used.wall_s * 1e3;
                    found.figures["first_threads"] = static_cast<double>(threads);
                }
                if (i + 1 == rounds && rounds > 1) found.figures["last_ms"] = used.wall_s * 1e3;
                most = std::max(most, threads);
            }
            found.figures["most_threads"] = static_cast<double>(most);
            std::this_thread::sleep_for(keep_alive * 3);
            found.figures["threads_after"] = static_cast<double>(threads_of_this_process() - before);
            if (c.asked().round == 0 && r == 0) found.series["view"] = seen.lines();
        }
        c.report(found);
    }
}

} // namespace lab::async_growth

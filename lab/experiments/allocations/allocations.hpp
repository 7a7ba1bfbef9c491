/// Experiment allocations: how many allocations a warm system makes for each task.
///
/// Waves of tasks run until the system has all the memory that it needs. Then a preloaded library
/// (counting_allocator.cpp) counts the calls of malloc and its relatives, operator new and mmap during
/// further waves, over all threads.
#pragma once

#include <lab/harness/cell.hpp>
#include <lab/harness/completion.hpp>
#include <lab/harness/task_system.hpp>

#include <algorithm>
#include <cstdint>
#include <dlfcn.h>

namespace lab::allocations {

/// Returns the number of calls so far. Fails the cell if the counting library is not loaded.
inline std::uint64_t calls(const cell& c) {
    using counter = std::uint64_t (*)();
    static const auto count = reinterpret_cast<counter>(dlsym(RTLD_DEFAULT, "ekiden_lab_allocation_calls"));
    if (!count) c.fail("the counting allocator is not loaded in front of this process");
    return count();
}

/// Returns the allocations per task of `one_wave`, which runs `tasks` tasks. Runs the same number of waves
/// before to warm up.
template <class Wave>
double per_task(const cell& c, std::size_t waves, std::size_t tasks, Wave one_wave) {
    for (std::size_t w = 0; w < waves; ++w) one_wave();
    const std::uint64_t before = calls(c);
    for (std::size_t w = 0; w < waves; ++w) one_wave();
    return static_cast<double>(calls(c) - before) / static_cast<double>(waves * tasks);
}

template <class System>
void run(cell& c) {
    const std::size_t tasks = 1'000 / std::min<std::size_t>(slowness<System>(), 10);
    const std::size_t waves = c.pick(4, 100, 400);
    completion done;
    System system(c.workers());
    repetition found;
    found.used = c.measure([&] {
        if (c.asked().variant == "post") {
            enter(system, [&] {
                auto producer = make_producer(system);
                found.figures["per_task"] = per_task(c, waves, tasks, [&] {
                    done.expect(tasks);
                    for (std::size_t i = 0; i < tasks; ++i) producer.post([&done] { done.hit(); });
                    if constexpr (requires { system.help(); }) system.help();
                    done.wait(c);
                });
            });
        } else {
            enter(system, [&] {
                found.figures["per_task"] = per_task(c, waves, tasks, [&] {
                    for (std::size_t i = 0; i < tasks; ++i)
                        if (system.call([i] { return i; }) != i) c.fail("a task returned a wrong result");
                });
            });
        }
    });
    c.report(found);
}

} // namespace lab::allocations

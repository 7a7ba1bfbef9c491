/// Experiment allocations: how often a system asks for memory per task, once it is warm.
///
/// Waves of tasks are run until the system has all the memory it wants; then the calls of malloc and its kin,
/// operator new and mmap during further waves are counted by a library that is loaded in front
/// (counting_allocator.cpp), over all threads.
#pragma once

#include <lab/harness/cell.hpp>
#include <lab/harness/completion.hpp>
#include <lab/harness/task_system.hpp>

#include <algorithm>
#include <cstdint>
#include <dlfcn.h>

namespace lab::allocations {

/// Calls so far, or fails the cell if the counting library is not loaded.
inline std::uint64_t calls(const cell& c) {
    using counter = std::uint64_t (*)();
    static const auto count = reinterpret_cast<counter>(dlsym(RTLD_DEFAULT, "ekiden_lab_allocation_calls"));
    if (!count) c.fail("the counting allocator is not loaded in front of this process");
    return count();
}

/// The allocations per task of `one_wave`, which runs `tasks` tasks, after as many waves to warm up.
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

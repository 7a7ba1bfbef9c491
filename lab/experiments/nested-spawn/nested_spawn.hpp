/// Experiment nested-spawn: a binary tree of tasks. Each task spawns two tasks, and no task waits for them.
///
/// A first, untimed run marks every task by its number in heap order, and proves that each ran exactly once.
#pragma once

#include <lab/harness/cell.hpp>
#include <lab/harness/completion.hpp>
#include <lab/harness/task_system.hpp>

#include <cstdint>
#include <optional>

namespace lab::nested_spawn {

/// In the proving run, every task is marked. In the timed runs, `present` is null.
template <class System>
struct tree_task {
    System* system;
    completion* done;
    attendance* present;
    std::uint32_t number; // of this node in heap order: the root is 1
    std::uint32_t last;

    void operator()() const {
        run([this](const tree_task& left, const tree_task& right) {
            spawn(*system, left);
            spawn(*system, right);
        });
    }
    /// For a system whose tasks get a scope, and run their children in it.
    template <class Scope>
        requires requires(System& in, Scope& scope, const tree_task& task) {
            in.spawn_two(scope, task, task);
        }
    void operator()(Scope& scope) const {
        run([this, &scope](const tree_task& left, const tree_task& right) {
            system->spawn_two(scope, left, right);
        });
    }

private:
    template <class SpawnTwo>
    void run(SpawnTwo spawn_two) const {
        if (2 * number <= last)
            spawn_two(tree_task{system, done, present, 2 * number, last},
                      tree_task{system, done, present, 2 * number + 1, last});
        if (present) present->mark(number - 1);
        done->hit();
    }
};

template <class System>
void plant(System& system, completion& done, attendance* present, std::uint32_t last) {
    enter(system, [&] { system.post(tree_task<System>{&system, &done, present, 1, last}); });
}

template <class System>
void run(cell& c) {
    // A tree with 2^levels - 1 tasks.
    std::uint32_t levels = static_cast<std::uint32_t>(c.pick(10, 20, 20));
    for (std::size_t slow = slowness<System>(); slow > 1 && levels > 8; slow /= 2) --levels;
    const std::uint32_t last = (1U << levels) - 1;
    const std::uint32_t last_proved = (1U << (levels - 2)) - 1;
    completion done;
    attendance present(last_proved);
    std::optional<System> system(std::in_place, c.workers());
    done.expect(last_proved);
    plant(*system, done, &present, last_proved);
    done.wait(c);
    present.check(c);
    for (unsigned r = 0; c.again(r); ++r) {
        done.expect(last);
        repetition found;
        found.used = c.measure([&] {
            plant(*system, done, nullptr, last);
            done.wait(c);
        });
        done.check(c);
        found.figures["ns_per_task"] = found.used.wall_s * 1e9 / last;
        found.figures["cpu_ns_per_task"] = found.used.cpu_s() * 1e9 / last;
        c.report(found);
    }
    system.reset(); // now, because a task that runs twice may run late
    done.check(c);
}

} // namespace lab::nested_spawn

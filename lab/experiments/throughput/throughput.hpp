/// Experiment throughput: how fast a system accepts and runs empty tasks.
///
/// The task is the source's: it increments a shared counter. A first, untimed run with numbered tasks proves
/// that each runs exactly once. It also warms the system up.
#pragma once

#include <lab/harness/cell.hpp>
#include <lab/harness/completion.hpp>
#include <lab/harness/task_system.hpp>

#include <memory>
#include <optional>

namespace lab::throughput {

/// Submits tasks one by one. Only the proving run uses the task's number.
struct one_by_one {
    template <class System>
    static void prove(const cell& c, System& system, unsigned count, std::size_t each, attendance& present,
                      completion& done) {
        auto body = [&](unsigned k, auto& producer) {
            for (std::size_t i = 0; i < each; ++i)
                producer.post([&present, &done, task = k * each + i] {
                    present.mark(task);
                    done.hit();
                });
        };
        producers all(c, system, count, body);
        all.run();
    }

    /// Returns a function that starts the timed submission.
    template <class System>
    static auto prepare(const cell& c, System& system, unsigned count, std::size_t each, completion& done) {
        auto body = [&done, each](unsigned, auto& producer) {
            for (std::size_t i = 0; i < each; ++i) producer.post([&done] { done.hit(); });
        };
        return std::make_unique<producers<System, decltype(body)>>(c, system, count, body);
    }
};

/// Submits all tasks with one call of post_bulk for each producer.
struct in_bulk {
    template <class System>
    static void prove(const cell& c, System& system, unsigned count, std::size_t each, attendance& present,
                      completion& done) {
        auto body = [&](unsigned k, auto&) {
            system.post_bulk(each, [&present, &done, first = k * each](std::size_t i) {
                present.mark(first + i);
                done.hit();
            });
        };
        producers all(c, system, count, body);
        all.run();
    }

    template <class System>
    static auto prepare(const cell& c, System& system, unsigned count, std::size_t each, completion& done) {
        auto body = [&system, &done, each](unsigned, auto&) {
            system.post_bulk(each, [&done](std::size_t) { done.hit(); });
        };
        return std::make_unique<producers<System, decltype(body)>>(c, system, count, body);
    }
};

template <class System, class Way = one_by_one>
void run(cell& c) {
    const unsigned count = c.asked().variant == "4 producers" ? 4 : 1;
    const std::size_t tasks = c.pick(20'000, 1'000'000, 1'000'000) / slowness<System>();
    const std::size_t each = tasks / count;
    const std::size_t proving_each = each / 4;
    // The data of the tasks outlives the system, even if the system throws.
    completion done;
    attendance present(proving_each * count);
    std::optional<System> system(std::in_place, c.workers());
    done.expect(proving_each * count);
    Way::prove(c, *system, count, proving_each, present, done);
    done.wait(c);
    present.check(c);
    for (unsigned r = 0; c.again(r); ++r) {
        done.expect(each * count);
        auto submission = Way::prepare(c, *system, count, each, done);
        repetition found;
        found.used = c.measure([&] {
            submission->run();
            done.wait(c);
        });
        done.check(c);
        const double total = static_cast<double>(each * count);
        found.figures["ns_per_task"] = found.used.wall_s * 1e9 / total;
        found.figures["cpu_ns_per_task"] = found.used.cpu_s() * 1e9 / total;
        c.report(found);
    }
    system.reset(); // now, because a task that runs twice may run late
    done.check(c);
}

} // namespace lab::throughput

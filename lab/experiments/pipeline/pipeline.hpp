/// Experiment pipeline: items pass a serial source, a parallel stage and a serial sink.
///
/// Each repetition checks that the sink gets each item once, and in order if the sink is ordered.
#pragma once

#include <lab/harness/busy.hpp>
#include <lab/harness/cell.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lab::pipeline {

/// The items, and what the stages do with them.
struct work {
    std::size_t items = 0;
    std::size_t in_flight = 0;
    bool is_ordered = true;         // the sink gets the items in the order of the source
    std::uint64_t turns = 0;        // of an item in the parallel stage
    std::uint64_t serial_turns = 0; // of an item in the sink
    std::uint64_t uneven = 1;       // every 16th item takes this many times as long

    [[nodiscard]] std::uint64_t make(std::size_t item) const { return item; }
    [[nodiscard]] std::uint64_t change(std::uint64_t item) const {
        const std::uint64_t times = item % 16 == 0 ? uneven : 1;
        if (turns != 0) (void)turn(turns * times, item);
        return item;
    }
};

/// What the sink has got.
struct received {
    std::size_t count = 0;
    std::uint64_t sum = 0;
    bool is_in_order = true;

    void add(const work& todo, std::uint64_t item) {
        if (todo.serial_turns != 0) (void)turn(todo.serial_turns, item);
        is_in_order &= item == count;
        ++count;
        sum += item;
    }
};

inline work work_of(const cell& c) {
    const std::string& variant = c.asked().variant;
    const auto turns_of = [&](double us) { return static_cast<std::uint64_t>(c.asked().turns_per_us * us); };
    work todo;
    todo.in_flight = std::size_t{8} * c.workers();
    const bool is_empty = variant.starts_with("empty");
    todo.items = is_empty ? c.pick(1000, 300'000, 1'000'000) : c.pick(200, 30'000, 100'000);
    todo.is_ordered = !variant.ends_with("any order");
    if (!is_empty) todo.turns = turns_of(1);
    if (variant == "uneven") todo.uneven = 20;
    if (variant == "busy sink") todo.serial_turns = turns_of(0.5);
    return todo;
}

template <class System>
void run(cell& c) {
    const work todo = work_of(c);
    System system(c.asked().variant.ends_with("1 thread") ? 1 : c.workers());
    const auto pass = [&] {
        received sink;
        if (todo.is_ordered)
            system.template pass<true>(todo, sink);
        else
            system.template pass<false>(todo, sink);
        const std::uint64_t last = todo.items - 1;
        if (sink.count != todo.items || sink.sum != last * todo.items / 2)
            c.fail("the sink has got " + std::to_string(sink.count) + " items");
        if (todo.is_ordered && !sink.is_in_order) c.fail("the items came out of order");
    };
    pass();
    for (unsigned r = 0; c.again(r); ++r) {
        repetition found;
        found.used = c.measure(pass);
        found.figures["ns_per_item"] = found.used.wall_s * 1e9 / static_cast<double>(todo.items);
        found.figures["cpu_ns_per_item"] = found.used.cpu_s() * 1e9 / static_cast<double>(todo.items);
        c.report(found);
    }
}

} // namespace lab::pipeline

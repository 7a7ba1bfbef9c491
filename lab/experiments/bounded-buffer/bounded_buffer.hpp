/// Experiment bounded-buffer: four producers and four consumers.
#pragma once

#include <lab/harness/crew.hpp>

#include <atomic>
#include <string>

namespace lab::bounded_buffer {

template <class Buffer>
void run(cell& c) {
    const std::size_t capacity = c.asked().variant == "1" ? 1 : c.asked().variant == "16" ? 16 : 1024;
    constexpr unsigned producers = 4;
    const long items = static_cast<long>(c.pick(200, 40'000, 400'000)) / (capacity == 1 ? 4 : 1);
    for (unsigned r = 0; r < c.asked().repetitions; ++r) {
        Buffer buffer(capacity);
        std::atomic<long> sum{0};
        repetition found;
        found.used = together(c, 2 * producers, [&](unsigned me) {
            long mine = 0;
            for (long i = 0; i < items; ++i) {
                if (me < producers)
                    buffer.push(i);
                else
                    mine += buffer.pop();
            }
            sum += mine;
        });
        if (sum != producers * items * (items - 1) / 2) c.fail("items were lost or came out twice");
        const double passed = static_cast<double>(producers * items);
        found.figures["ns_per_item"] = found.used.wall_s * 1e9 / passed;
        found.figures["cpu_ns_per_item"] = found.used.cpu_s() * 1e9 / passed;
        c.report(found);
    }
}

} // namespace lab::bounded_buffer

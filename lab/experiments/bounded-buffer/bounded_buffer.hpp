/// Experiment bounded-buffer: four producers and four consumers. A buffer with watermarks stops its producers
/// when it is full. They continue when it has drained to its low mark.
#pragma once

#include <lab/harness/busy_neighbour.hpp>
#include <lab/harness/together.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace lab::bounded_buffer {

inline constexpr std::size_t low_mark = 64;
inline constexpr std::size_t high_mark = 256;

/// make() returns a new buffer.
template <class Make>
void pass(cell& c, std::size_t capacity, Make make, unsigned producers = 4) {
    const long items = static_cast<long>(c.pick(200, 40'000, 400'000)) / (capacity == 1 ? 4 : 1);
    for (unsigned r = 0; r < c.asked().repetitions; ++r) {
        auto buffer = make();
        std::atomic<std::int64_t> sum{0};
        repetition found;
        found.used = together(c, 2 * producers, [&](unsigned me) {
            std::int64_t mine = 0;
            for (long i = 0; i < items; ++i) {
                if (me < producers)
                    buffer->push(i);
                else
                    mine += buffer->pop();
            }
            sum += mine;
        });
        if (sum != std::int64_t{producers} * items * (items - 1) / 2)
            c.fail("items were lost or came out twice");
        const double passed = static_cast<double>(producers * items);
        found.figures["ns_per_item"] = found.used.wall_s * 1e9 / passed;
        found.figures["cpu_ns_per_item"] = found.used.cpu_s() * 1e9 / passed;
        c.report(found);
    }
}

template <class Buffer>
void run(cell& c) {
    const busy_neighbours neighbours(c.asked().variant);
    const std::string& variant = neighbours.variant();
    if (variant == "watermarks") c.not_applicable("has no watermarks");
    const std::size_t capacity = std::stoul(variant);
    const unsigned producers = neighbours.any() ? 1 : 4;
    pass(c, capacity, [capacity] { return std::make_unique<Buffer>(capacity); }, producers);
}

/// Like run(), but also for buffers with watermarks.
template <class Buffer, class WithMarks>
void run_both(cell& c) {
    if (c.asked().variant != "watermarks") return run<Buffer>(c);
    pass(c, high_mark, [] { return std::make_unique<WithMarks>(low_mark, high_mark); });
}

} // namespace lab::bounded_buffer

/// Experiment strands-hop: 1,000 strands. On each, a chain of handlers starts, which continues from strand to
/// strand.
///
/// A visit to a strand increments plain variables of that strand, which only the strand protects. If two
/// handlers of one strand ran at the same time, the proving run would detect it immediately, and every run
/// would detect lost counts.
#pragma once

#include <lab/harness/cell.hpp>
#include <lab/harness/together.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace lab::strands_hop {

constexpr std::uint32_t strands = 1'000;

constexpr std::uint32_t next(std::uint32_t at) { return (at * 7 + 13) % strands; }

/// What the handlers of one strand have observed.
struct alignas(64) sight {
    std::uint64_t visits = 0;
    std::atomic<bool> inside{false}; // used in the proving run
};

template <class Library>
struct journey {
    std::vector<typename Library::strand> to;
    std::vector<sight> seen;
    std::atomic<std::uint64_t> overlaps{0};
    bool proving = false;

    explicit journey(typename Library::context& context) : seen(strands) {
        to.reserve(strands);
        for (std::uint32_t i = 0; i < strands; ++i) to.push_back(Library::strand_of(context));
    }
};

/// One handler of a chain.
template <class Library>
struct hop {
    journey<Library>* of;
    std::uint32_t at;
    std::uint32_t left; // number of hops after this one

    void operator()() const {
        sight& here = of->seen[at];
        if (of->proving && here.inside.exchange(true, std::memory_order_relaxed))
            of->overlaps.fetch_add(1, std::memory_order_relaxed);
        ++here.visits;
        if (left > 0) Library::post(of->to[next(at)], hop{of, next(at), left - 1});
        if (of->proving) here.inside.store(false, std::memory_order_relaxed);
    }
};

/// Starts a chain on every strand. Then `threads` threads run the context until all chains have ended.
template <class Library>
usage travel(cell& c, typename Library::context& context, journey<Library>& all, unsigned threads,
             std::uint32_t hops) {
    for (sight& s : all.seen) s.visits = 0;
    for (std::uint32_t i = 0; i < strands; ++i) Library::post(all.to[i], hop<Library>{&all, i, hops - 1});
    const usage used = together(c, threads, [&](unsigned) { context.run(); });
    context.restart();
    std::uint64_t visits = 0;
    for (const sight& s : all.seen) visits += s.visits;
    if (all.overlaps.load() > 0)
        c.fail(std::to_string(all.overlaps.load()) + " handlers of a strand overlapped");
    if (visits != std::uint64_t{strands} * hops)
        c.fail(std::to_string(visits) + " hops counted where there were " + std::to_string(strands * hops));
    return used;
}

template <class Library>
void run(cell& c) {
    const unsigned threads = c.asked().variant == "1 thread" ? 1 : 2;
    const auto hops = static_cast<std::uint32_t>(c.pick(20, 1'000, 5'000));
    typename Library::context context(static_cast<int>(threads));
    journey<Library> all(context);
    all.proving = true;
    travel(c, context, all, threads, hops / 4);
    all.proving = false;
    for (unsigned r = 0; c.again(r); ++r) {
        repetition found;
        found.used = travel(c, context, all, threads, hops);
        found.figures = {{"ns_per_hop", found.used.wall_s * 1e9 / strands / hops},
                         {"cpu_ns", found.used.cpu_s() * 1e9 / strands / hops}};
        c.report(found);
    }
}

} // namespace lab::strands_hop

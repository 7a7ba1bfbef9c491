/// Experiment coroutine-hop: coroutines that hop between two strands, and awaits that complete immediately.
///
/// A visit to a strand increments a plain variable that only the strand protects. If two coroutines were on
/// one strand at the same time, the proving run would detect it immediately, and every run would detect lost
/// counts.
#pragma once

#include <lab/harness/cell.hpp>
#include <lab/harness/together.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace lab::coroutine_hop {

/// What the coroutines have observed on one strand.
class alignas(128) sight {
public:
    /// Records that a coroutine is on the strand.
    void visit(bool proving) noexcept {
        if (proving && inside_.exchange(true, std::memory_order_relaxed))
            overlaps_.fetch_add(1, std::memory_order_relaxed);
        ++visits_;
        if (proving) inside_.store(false, std::memory_order_relaxed);
    }

    [[nodiscard]] std::uint64_t visits() const { return visits_; }
    [[nodiscard]] std::uint64_t overlaps() const { return overlaps_.load(); }

private:
    std::uint64_t visits_ = 0;
    std::atomic<bool> inside_{false};
    std::atomic<std::uint64_t> overlaps_{0};
};

struct journey {
    std::array<sight, 2> seen;
    unsigned coroutines = 1;
    std::uint64_t hops = 0; // of each coroutine
    bool proving = false;

    void check(const cell& c) const {
        if (const std::uint64_t overlaps = seen[0].overlaps() + seen[1].overlaps(); overlaps > 0)
            c.fail(std::to_string(overlaps) + " visits of a strand overlapped");
        const std::uint64_t visits = seen[0].visits() + seen[1].visits();
        if (visits != hops * coroutines)
            c.fail(std::to_string(visits) + " hops counted where there were "
                   + std::to_string(hops * coroutines));
    }
};

/// "1 coroutine, 1 thread"
inline unsigned threads_of(const cell& c) { return c.asked().variant.ends_with("2 threads") ? 2 : 1; }

/// Runs the started coroutines to their end.
template <class System>
usage run_all(cell& c, System& system, unsigned threads) {
    const usage used = together(c, threads, [&system](unsigned) { system.run(); });
    system.restart();
    return used;
}

/// System(threads) is a context with two strands. start(journey&) starts its coroutines. run() and restart()
/// are those of the context.
template <class System>
void run_hops(cell& c) {
    const unsigned coroutines = c.asked().variant.starts_with("64") ? 64 : 1;
    const unsigned threads = threads_of(c);
    System system(threads);
    const auto once = [&](bool proving) {
        journey all;
        all.coroutines = coroutines;
        all.hops = c.pick(6'400, 640'000, 6'400'000) / coroutines;
        all.proving = proving;
        system.start(all);
        repetition found;
        found.used = run_all(c, system, threads);
        all.check(c);
        const auto hops = static_cast<double>(all.hops * coroutines);
        found.figures = {{"ns_per_hop", found.used.wall_s * 1e9 / hops},
                         {"cpu_ns", found.used.cpu_s() * 1e9 / hops}};
        return found;
    };
    once(true);
    for (unsigned r = 0; c.again(r); ++r) c.report(once(false));
}

/// The result of the child coroutine for its argument. The awaiting coroutine adds it up.
constexpr std::uint64_t answer(std::uint64_t to) { return to ^ 0x5aU; }

/// The same System. start_asking(count, sum) starts one coroutine that awaits a child `count` times.
template <class System>
void run_awaits(cell& c) {
    const std::uint64_t count = c.pick(2'000, 5'000'000, 50'000'000);
    std::uint64_t right = 0;
    for (std::uint64_t i = 0; i < count; ++i) right += answer(i);
    System system(1);
    const auto once = [&] {
        std::uint64_t sum = 0;
        system.start_asking(count, sum);
        repetition found;
        found.used = run_all(c, system, 1);
        if (sum != right) c.fail("the children's results do not add up");
        found.figures = {{"ns_per_await", found.used.wall_s * 1e9 / static_cast<double>(count)},
                         {"cpu_ns", found.used.cpu_s() * 1e9 / static_cast<double>(count)}};
        return found;
    };
    once();
    for (unsigned r = 0; c.again(r); ++r) c.report(once());
}

template <class System>
void run(cell& c) {
    if (c.asked().variant == "immediate")
        run_awaits<System>(c);
    else
        run_hops<System>(c);
}

} // namespace lab::coroutine_hop

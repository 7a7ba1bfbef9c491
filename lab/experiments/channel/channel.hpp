/// Experiment channel: producers pass numbers through a channel to consumers.
///
/// A consumer adds up its items and checks that the items of each producer are in order. It pops a fixed
/// share of the items, so that the result does not depend on how a channel is closed.
#pragma once

#include <lab/harness/busy.hpp>
#include <lab/harness/cell.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

namespace lab::channel {

inline constexpr unsigned most_producers = 8;
inline constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

/// The meaning of a variant's name: "8 to 1, 64, full".
struct setting {
    unsigned producers = 1;
    unsigned consumers = 1;
    std::size_t capacity = unbounded; // 0: a rendezvous
    bool in_threads = false;          // producers and consumers are threads instead of coroutines
    unsigned threads = 2;             // run the coroutines
    std::uint64_t each = 0;           // items of a producer
    std::uint64_t produce_turns = 0;
    std::uint64_t consume_turns = 0;

    [[nodiscard]] std::uint64_t total() const { return each * producers; }
    [[nodiscard]] std::uint64_t share() const { return total() / consumers; }
};

inline setting parse(const cell& c) {
    const std::string& variant = c.asked().variant;
    const auto ends = [&variant](const char* words) { return variant.ends_with(words); };
    const auto work = static_cast<std::uint64_t>(c.asked().turns_per_us / 5); // 200 ns
    setting s;
    // If no number follows, the capacity stays unbounded.
    if (std::sscanf(variant.c_str(), "%u to %u, %zu", &s.producers, &s.consumers, &s.capacity) < 2)
        c.fail("no setting: " + variant);
    s.in_threads = ends(", threads");
    s.threads = ends(", 1 thread") ? 1 : 2;
    // With a small capacity, almost every item makes a thread wait.
    const std::size_t waits = s.in_threads && s.capacity <= 1 ? 10 : 1;
    s.each = c.pick(4'000, 400'000, 4'000'000) / waits / s.producers;
    s.produce_turns = ends(", empty") ? work : 0;
    s.consume_turns = ends(", full") ? work : 0;
    return s;
}

/// Generates the items of a producer.
class source {
public:
    source(const setting& s, unsigned number)
        : base_(std::uint64_t{number} << 32U), left_(s.each), turns_(s.produce_turns) {}

    [[nodiscard]] bool more() const noexcept { return left_ > 0; }

    [[nodiscard]] std::uint64_t next() noexcept {
        if (turns_ > 0) work_ = turn(turns_, work_);
        --left_;
        return base_++;
    }

private:
    std::uint64_t base_;
    std::uint64_t left_;
    std::uint64_t turns_;
    std::uint64_t work_ = 0;
};

/// Checks the items of a consumer. Only one consumer at a time may call it.
class alignas(128) sink {
public:
    explicit sink(const setting& s) : left_(s.share()), turns_(s.consume_turns) {}

    [[nodiscard]] bool more() const noexcept { return left_ > 0; }

    void take(std::uint64_t item) noexcept {
        const std::uint64_t number = item & 0xffff'ffffU;
        std::uint64_t& due = next_[(item >> 32U) % most_producers];
        ordered_ &= number >= due;
        due = number + 1;
        sum_ += item;
        --left_;
        if (turns_ > 0) work_ = turn(turns_, work_);
    }

    [[nodiscard]] std::uint64_t sum() const { return sum_; }
    [[nodiscard]] bool ordered() const { return ordered_; }

private:
    std::uint64_t left_;
    std::uint64_t turns_;
    std::uint64_t sum_ = 0;
    std::uint64_t work_ = 0;
    std::array<std::uint64_t, most_producers> next_{};
    bool ordered_ = true;
};

inline void check(const cell& c, const setting& s, const std::vector<sink>& sinks) {
    std::uint64_t sum = 0;
    std::uint64_t right = 0;
    for (const sink& one : sinks) {
        if (one.more()) c.fail("a consumer did not get its share");
        if (!one.ordered()) c.fail("a producer's items came out of order");
        sum += one.sum();
    }
    for (std::uint64_t p = 0; p < s.producers; ++p) right += (p << 32U) * s.each + s.each * (s.each - 1) / 2;
    if (sum != right) c.fail("items were lost or came out twice");
}

/// System(setting) creates the threads once. usage pass(cell&, sinks) creates a new channel and passes all
/// items through it.
template <class System>
void run(cell& c) {
    const setting s = parse(c);
    System system(s);
    const auto once = [&] {
        std::vector<sink> sinks(s.consumers, sink(s));
        repetition found;
        found.used = system.pass(c, sinks);
        check(c, s, sinks);
        const auto items = static_cast<double>(s.total());
        found.figures = {{"ns_per_item", found.used.wall_s * 1e9 / items},
                         {"cpu_ns", found.used.cpu_s() * 1e9 / items}};
        return found;
    };
    once();
    for (unsigned r = 0; c.again(r); ++r) c.report(once());
}

} // namespace lab::channel

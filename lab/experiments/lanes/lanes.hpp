/// Experiment lanes: tasks with keys. Tasks of one key run in order, one at a time. Tasks of different keys
/// run in parallel.
///
/// A system under test is a class S with
///
///     S(unsigned workers, std::size_t keys)     for keys 0 to keys - 1
///     void post(std::uint64_t key, F f)         any thread may call it
///     static constexpr bool keeps_order         false: it only prevents that tasks of a key overlap
///
/// Its destructor returns after all tasks have run. The tasks of each key increment a plain variable of that
/// key, one for each producer. So every run detects tasks out of order. The proving run also detects
/// overlaps.
#pragma once

#include <lab/experiments/lanes/keys.hpp>
#include <lab/harness/busy.hpp>
#include <lab/harness/cell.hpp>
#include <lab/harness/memory.hpp>
#include <lab/harness/tally.hpp>
#include <lab/harness/task_system.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace lab::lanes {

/// What the tasks observe at their keys.
class ledger {
public:
    ledger(std::size_t keys, unsigned producers)
        : producers_(producers), next_(keys * producers), inside_(keys) {}

    /// The task number `turn` of this producer and key.
    void arrive(std::uint32_t key, std::uint32_t producer, std::uint32_t turn) noexcept {
        std::uint32_t& next = next_[std::size_t{key} * producers_ + producer];
        if (next != turn) out_of_order_.fetch_add(1, std::memory_order_relaxed);
        next = turn + 1;
    }

    void enter(std::uint32_t key) noexcept {
        if (inside_[key].exchange(1, std::memory_order_relaxed))
            overlaps_.fetch_add(1, std::memory_order_relaxed);
    }
    void leave(std::uint32_t key) noexcept { inside_[key].store(0, std::memory_order_relaxed); }

    /// Resets everything, but keeps the memory. Call it while no task is pending.
    void clear() {
        std::fill(next_.begin(), next_.end(), 0);
        out_of_order_.store(0);
    }

    [[nodiscard]] std::uint64_t out_of_order() const { return out_of_order_.load(); }
    [[nodiscard]] std::uint64_t overlaps() const { return overlaps_.load(); }

private:
    unsigned producers_;
    std::vector<std::uint32_t> next_;
    std::vector<std::atomic<std::uint8_t>> inside_;
    std::atomic<std::uint64_t> out_of_order_{0};
    std::atomic<std::uint64_t> overlaps_{0};
};

struct keyed_task {
    ledger* book;
    std::uint32_t key;
    std::uint32_t turn;
    std::uint32_t producer;

    void operator()() const {
        book->arrive(key, producer, turn);
        tally::instance().hit();
    }
};

struct proving_task {
    keyed_task inner;

    void operator()() const {
        inner.book->enter(inner.key);
        inner();
        inner.book->leave(inner.key);
    }
};

/// The meaning of a variant's name that posts: "Zipf, 10,000 keys, 4 producers".
struct setting {
    bool zipf;
    std::size_t keys;
    unsigned producers;
};

inline setting parse(const std::string& variant) {
    return {.zipf = variant.starts_with("Zipf"),
            .keys = variant.find("1,000,000") != std::string::npos ? std::size_t{1'000'000} : 10'000,
            .producers = variant.find("4 prod") != std::string::npos ? 4U : 1U};
}

/// The producers post the tasks of `orders`, which has a list for each. Waits for all of them. measure(go)
/// calls go(). Task defines what is posted.
template <class Task, class System, class Measure>
void post_and_wait(cell& c, System& system, ledger& book, const std::vector<std::vector<order>>& orders,
                   Measure measure) {
    book.clear();
    std::uint64_t expected = tally::instance().count();
    for (const auto& list : orders) expected += list.size();
    const auto body = [&](unsigned producer, auto&) {
        for (const order& o : orders[producer])
            system.post(o.key, Task{keyed_task{&book, o.key, o.turn, producer}});
    };
    producers all(c, system, static_cast<unsigned>(orders.size()), body);
    measure([&] {
        all.run();
        tally::instance().wait(c, expected);
    });
    if (System::keeps_order && book.out_of_order() > 0)
        c.fail(std::to_string(book.out_of_order()) + " tasks ran out of their key's order");
    if (book.overlaps() > 0) c.fail(std::to_string(book.overlaps()) + " tasks of one key overlapped");
}

template <class System>
void run_posts(cell& c) {
    const setting s = parse(c.asked().variant);
    const std::size_t tasks = c.pick(20'000, 400'000, 2'000'000);
    const auto orders = make_orders(s.keys, s.zipf, s.producers, tasks);
    ledger book(s.keys, s.producers);
    System system(c.workers(), s.keys);
    post_and_wait<proving_task>(c, system, book, orders, [](auto go) { go(); });
    for (unsigned r = 0; c.again(r); ++r) {
        repetition found;
        post_and_wait<keyed_task>(c, system, book, orders, [&](auto go) { found.used = c.measure(go); });
        found.figures = {{"ns_per_task", found.used.wall_s * 1e9 / static_cast<double>(tasks)},
                         {"cpu_ns", found.used.cpu_s() * 1e9 / static_cast<double>(tasks)}};
        if (!System::keeps_order)
            found.figures["out_of_order"] =
                static_cast<double>(book.out_of_order()) / static_cast<double>(tasks);
        c.report(found);
    }
}

/// The tasks of the hot key. Each posts another one, so that their number stays the same.
template <class System>
struct hot_task {
    System* system;
    const std::atomic<bool>* over;
    std::atomic<int>* left;
    std::uint64_t turns;

    void operator()() const {
        turn(turns, turns);
        if (over->load(std::memory_order_relaxed))
            left->fetch_sub(1, std::memory_order_release);
        else
            system->post(0, *this);
    }
};

/// One key always has 1,000 waiting tasks of 5 us. Measures how long the task of another key waits.
template <class System>
void run_hot(cell& c) {
    constexpr std::size_t keys = 1'000;
    constexpr int waiting = 1'000;
    const std::size_t probes = c.pick(40, 400, 4'000);
    const auto turns = static_cast<std::uint64_t>(5 * c.asked().turns_per_us);
    System system(1, keys);
    for (unsigned r = 0; c.again(r); ++r) {
        std::atomic<bool> over{false};
        std::atomic<int> left{waiting};
        std::vector<std::uint64_t> posted_ns(probes);
        std::vector<std::uint64_t> delay_ns(probes);
        std::atomic<std::size_t> arrived{0};
        for (int i = 0; i < waiting; ++i) system.post(0, hot_task<System>{&system, &over, &left, turns});
        repetition found;
        found.used = c.measure([&] {
            for (std::size_t i = 0; i < probes; ++i) {
                std::this_thread::sleep_for(std::chrono::microseconds(500));
                posted_ns[i] = now_ns();
                system.post(1 + i * 7 % (keys - 1), [i, &posted_ns, &delay_ns, &arrived] {
                    delay_ns[i] = now_ns() - posted_ns[i];
                    arrived.fetch_add(1, std::memory_order_release);
                });
            }
        });
        over.store(true);
        const std::uint64_t give_up_ns = now_ns() + static_cast<std::uint64_t>(c.patience_s() * 1e9);
        while (arrived.load(std::memory_order_acquire) < probes || left.load(std::memory_order_acquire) > 0) {
            if (now_ns() > give_up_ns) c.fail("tasks were lost");
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        std::sort(delay_ns.begin(), delay_ns.end());
        found.figures = {{"longest_delay_us", static_cast<double>(delay_ns.back()) / 1e3},
                         {"median_delay_us", static_cast<double>(delay_ns[probes / 2]) / 1e3}};
        c.report(found);
    }
}

/// Memory per key after all keys have had a task and none has one any more.
template <class System>
void run_idle(cell& c) {
    const std::size_t keys = c.pick(20'000, 1'000'000, 1'000'000);
    const auto visit = [&c](System& system, std::size_t first, std::size_t last) {
        constexpr std::size_t wave = 1'000;
        for (std::size_t begin = first; begin < last; begin += wave) {
            const std::size_t end = std::min(begin + wave, last);
            const std::uint64_t expected = tally::instance().count() + (end - begin);
            for (std::size_t key = begin; key < end; ++key) system.post(key, [] { tally::instance().hit(); });
            tally::instance().wait(c, expected);
        }
    };
    {
        System small(c.workers(), 1'000);
        for (int i = 0; i < 20; ++i) visit(small, 0, 1'000); // excludes the memory of threads and tasks
    }
    const double before = resident_bytes();
    std::optional<System> system(std::in_place, c.workers(), keys);
    repetition found;
    found.used = c.measure([&] { visit(*system, 0, keys); });
    found.figures["bytes_per_key"] = std::max(0.0, resident_bytes() - before) / static_cast<double>(keys);
    c.report(found);
}

template <class System>
void run(cell& c) {
    if (c.asked().variant == "hot")
        run_hot<System>(c);
    else if (c.asked().variant == "idle")
        run_idle<System>(c);
    else
        run_posts<System>(c);
}

} // namespace lab::lanes

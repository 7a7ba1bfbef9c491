// The costs of the engine, on a small machine with round figures: 2 sockets with 2 clusters of 2 cores.
#include <computed/engine/engine.hpp>
#include <computed/engine/runtime.hpp>
#include <computed/rows/row.hpp>

#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/asymmetric_fence.hpp>

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <thread>

namespace {

using namespace ekiden;
using computed::machine;

machine small() {
    machine it;
    it.sockets = it.clusters = it.cores = 2;
    it.locked = 1'000;
    it.line[0] = 10'000, it.line[1] = 100'000, it.line[2] = 1'000'000;
    it.store_buffer = 4;
    it.futex_wait = 200'000, it.futex_wake = 300'000, it.wake_each = 500'000, it.wake = 2'000'000;
    it.deep_after = ~std::uint64_t{0} / 2;
    it.slice = 1'000'000'000;
    return it;
}

/// Runs the program in a process of its own. Returns up to four numbers that the program reports.
using numbers = std::array<std::uint64_t, 4>;
template <class Program>
numbers run(
    const machine& on, unsigned cores, Program program,
    const std::function<void(computed::engine&)>& prepare = [](computed::engine&) {}) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        numbers found{};
        computed::engine engine(on, cores);
        prepare(engine);
        engine.run([&] { program(found); });
        ::_exit(::write(ends[1], found.data(), sizeof found) == sizeof found ? 0 : 1);
    }
    ::close(ends[1]);
    numbers found{};
    CHECK(::read(ends[0], found.data(), sizeof found) == sizeof found);
    ::close(ends[0]);
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
    return found;
}

/// Core 0 and core `other` increment a word by turns, 100 times each. Returns the time in ns.
std::uint64_t by_turns(unsigned other) {
    return run(small(), 8, [other](numbers& found) {
        alignas(64) sys::atomic<unsigned> word{0};
        alignas(64) sys::atomic<bool> begin{false};
        std::vector<sys::thread> threads;
        for (unsigned core = 1; core <= other; ++core) // each new thread gets the nearest idle core
            threads.emplace_back([&, core] {
                while (!begin.load(sys::acquire)) computed::spend(100'000);
                if (core != other) return;
                for (unsigned i = 0; i != 100; ++i) {
                    computed::spend(10'000); // core 0 increments 5 us earlier
                    word.fetch_add(1, sys::relaxed);
                }
            });
        computed::spend(1'000'000);
        begin.store(true, sys::release);
        for (unsigned i = 0; i != 100; ++i) {
            const std::uint64_t before = sys::now_ns();
            word.fetch_add(1, sys::relaxed);
            found[0] += sys::now_ns() - before;
            computed::spend(10'000);
        }
        for (sys::thread& one : threads) one.join();
        found[1] = word.load(sys::relaxed);
    })[0];
}

} // namespace

TEST_CASE("a line that two cores write by turns costs what the table says for their distance") {
    // Each of the 100 increments takes 1 ns, and 99 or 98 of them fetch the line.
    CHECK(by_turns(1) / 100 == doctest::Approx(11).epsilon(0.1));
    CHECK(by_turns(2) / 100 == doctest::Approx(101).epsilon(0.1));
    CHECK(by_turns(4) / 100 == doctest::Approx(1001).epsilon(0.1));
}

TEST_CASE("readers share a line, and a writer takes it from all of them") {
    machine on = small();
    computed::line_table lines(on);
    alignas(64) static int place[16];
    using request = computed::line_table::request;
    computed::line& it = *lines.find(place);
    lines.give(it, 0, true);
    CHECK(lines.reserve(it, 1, 0, request::read).length == 10'000);
    lines.give(it, 1, false);
    CHECK(it.readable_by(0));
    CHECK(it.readable_by(1));
    CHECK_FALSE(it.owned_by(0));
    it.free = 0;
    CHECK(lines.reserve(it, 4, 0, request::read).length == 1'000'000);
    lines.give(it, 4, false);
    it.free = 0;
    CHECK(lines.reserve(it, 5, 0, request::read).length == 10'000); // its neighbour has a copy
    it.free = 0;
    CHECK(lines.reserve(it, 0, 0, request::write).length
          == 1'000'000); // the copy on the other socket is the farthest
    lines.give(it, 0, true);
    CHECK(it.owned_by(0));
    CHECK_FALSE(it.readable_by(4));
}

TEST_CASE("a busy line serves one request at a time") {
    machine on = small();
    on.hold = 3'000;
    computed::line_table lines(on);
    alignas(64) static int place[16];
    using request = computed::line_table::request;
    computed::line& it = *lines.find(place);
    lines.give(it, 0, true);
    const auto first = lines.reserve(it, 1, 50'000, request::modify);
    const auto second = lines.reserve(it, 2, 50'000, request::modify);
    CHECK(first.start == 50'000);
    CHECK(second.start == 50'000 + 10'000 + 3'000);
    CHECK(second.length == 100'000); // it comes from core 1, in another cluster
}

TEST_CASE("a core does not wait for its stores until a read-modify-write") {
    const numbers found = run(small(), 2, [](numbers& out) {
        struct alignas(64) padded {
            sys::atomic<int> word{0};
        };
        static padded words[2];
        sys::thread other([] { words[0].word.store(1, sys::relaxed); });
        computed::spend(10'000); // so that the other thread runs on the other core
        other.join();
        const std::uint64_t begin = sys::now_ns();
        words[0].word.store(2, sys::relaxed);
        out[0] = sys::now_ns() - begin;
        words[1].word.fetch_add(1, sys::relaxed);
        out[1] = sys::now_ns() - begin;
    });
    CHECK(found[0] == 0);
    CHECK(found[1] == 11);
}

TEST_CASE("a wake-up costs the call, and the thread runs when the table says") {
    const numbers found = run(small(), 2, [](numbers& out) {
        sys::atomic<std::uint32_t> word{0};
        sys::thread sleeper([&] {
            while (word.load(sys::acquire) == 0) sys::futex_wait(word, 0);
            out[1] = sys::now_ns();
        });
        computed::spend(100'000);
        word.store(1, sys::release);
        const std::uint64_t begin = sys::now_ns();
        out[3] = static_cast<std::uint64_t>(sys::futex_wake(word));
        out[0] = sys::now_ns() - begin;
        sleeper.join();
        out[1] -= begin;
    });
    CHECK(found[3] == 1);
    CHECK(found[0] == 800);
    CHECK(found[1] == doctest::Approx(2'800).epsilon(0.02));
}

TEST_CASE("a thread that wakes up gets its core at once, and a core that was idle for long takes longer") {
    machine on = small();
    on.wake_deep = 7'000'000, on.deep_after = 100'000'000;
    const numbers found = run(on, 3, [](numbers& out) {
        sys::atomic<std::uint32_t> word{0};
        sys::thread sleeper([&] {
            for (std::uint32_t i = 0; i != 2; ++i) {
                while (word.load(sys::acquire) == i) sys::futex_wait(word, i);
                out[i] = sys::now_ns();
                computed::spend(10'000);
            }
        });
        for (std::uint32_t i = 0; i != 2; ++i) {
            computed::spend(i == 0 ? 100'000 : 5'000'000);
            word.store(i + 1, sys::release);
            const std::uint64_t begin = sys::now_ns();
            sys::futex_wake(word);
            // This core is idle when the thread arrives, but the thread has another core.
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            out[i] -= begin;
        }
        sleeper.join();
    });
    CHECK(found[0] == doctest::Approx(2'800).epsilon(0.02));
    CHECK(found[1] == doctest::Approx(9'800).epsilon(0.02));
}

TEST_CASE("a core keeps a line after a read-modify-write, until it pauses") {
    for (const bool pauses : {false, true}) {
        machine on = small();
        on.atomic = 1'000, on.hold = 500'000, on.pause = 1'000;
        const numbers found = run(on, 2, [pauses](numbers& out) {
            alignas(64) sys::atomic<unsigned> word{0};
            sys::thread other([&] {
                computed::spend(100'000);
                word.fetch_add(1, sys::relaxed);
                while (word.load(sys::relaxed) != 2)
                    if (pauses) sys::spin_hint();
            });
            computed::spend(102'100); // the other thread began 2 us later
            const std::uint64_t begin = sys::now_ns();
            word.fetch_add(1, sys::relaxed);
            out[0] = sys::now_ns() - begin;
            other.join();
        });
        CHECK((found[0] > 300) != pauses);
    }
}

TEST_CASE("a heavy fence interrupts the cores that run, and only one is made at a time") {
    machine on = small();
    on.membarrier = 1'000'000, on.answer = 5'000'000, on.interrupt = 2'000'000;
    const numbers found = run(on, 3, [](numbers& out) {
        std::uint64_t begin = sys::now_ns();
        sys::fence_heavy();
        out[0] = sys::now_ns() - begin; // no other core runs
        std::vector<sys::thread> others;
        for (unsigned i = 0; i != 2; ++i)
            others.emplace_back([&out, i] {
                computed::spend(50'000);
                const std::uint64_t since = sys::now_ns();
                if (i == 0) sys::fence_heavy();
                computed::spend(20'000);
                out[1 + i] = sys::now_ns() - since;
            });
        computed::spend(53'500); // and 2 us for the fence of another thread
        begin = sys::now_ns();
        sys::fence_heavy();
        out[3] = sys::now_ns() - begin;
        for (sys::thread& one : others) one.join();
    });
    CHECK(found[0] == 1'000);
    CHECK(found[1] == doctest::Approx(20'000 + 6'000 + 2'000).epsilon(0.01));
    CHECK(found[2] == doctest::Approx(20'000 + 2 * 2'000).epsilon(0.01));
    CHECK(found[3] == doctest::Approx(6'000 + 1'500).epsilon(0.03)); // it waits for the other fence
}

TEST_CASE("lengths that vary keep their mean") {
    machine on = small();
    on.jitter = 50;
    computed::line_table lines(on);
    std::uint64_t sum = 0, least = ~std::uint64_t{0}, most = 0;
    for (unsigned i = 0; i != 10'000; ++i) {
        const std::uint64_t one = lines.varied(10'000);
        sum += one, least = std::min(least, one), most = std::max(most, one);
    }
    CHECK(static_cast<double>(sum) / 10'000 == doctest::Approx(10'000).epsilon(0.01));
    CHECK(least < 5'100);
    CHECK(most > 14'900);
    CHECK(most <= 15'000);
}

TEST_CASE("the profile names the line for which the cores wait longest, and the place that waits") {
    computed::engine* machine_of_child = nullptr;
    const numbers found = run(
        small(), 2,
        [&](numbers& out) {
            alignas(64) static sys::atomic<unsigned> hot{0}, cold{0};
            sys::thread other([] {
                for (unsigned i = 0; i != 100; ++i) {
                    computed::spend(1'000);
                    hot.fetch_add(1, sys::relaxed);
                    cold.fetch_add(1, sys::relaxed); // no other core has this line
                }
            });
            for (unsigned i = 0; i != 100; ++i) {
                computed::spend(1'000);
                hot.fetch_add(1, sys::relaxed);
            }
            other.join();
            const auto all = machine_of_child->stalls();
            const auto longest =
                std::max_element(all.begin(), all.end(),
                                 [](const auto& one, const auto& two) { return one.length < two.length; });
            out[0] = longest->line == &hot ? 1 : 0;
            out[1] = longest->count;
            out[2] = longest->length / 1'000;
            out[3] = static_cast<std::uint64_t>(
                std::count_if(all.begin(), all.end(), [](const auto& one) { return one.line == &hot; }));
        },
        [&](computed::engine& made) {
            made.profile();
            machine_of_child = &made;
        });
    CHECK(found[0] == 1);
    CHECK(found[1] > 90);
    CHECK(found[1] <= 100);
    CHECK(found[2] >= found[1] * 10); // ns
    CHECK(found[2] <= found[1] * 22);
    CHECK(found[3] == 2); // one place in each thread
}

TEST_CASE("a wait with a deadline ends at the deadline") {
    const numbers found = run(small(), 1, [](numbers& out) {
        sys::atomic<std::uint32_t> word{0};
        const std::uint64_t begin = sys::now_ns();
        out[1] = sys::futex_wait_until(word, 0, sys::clock::now() + std::chrono::microseconds(50)) ? 1 : 0;
        out[0] = sys::now_ns() - begin;
    });
    CHECK(found[0] == 50'000);
    CHECK(found[1] == 0);
}

TEST_CASE("three threads on two cores take turns and get equal shares") {
    machine on = small();
    on.cores = 2, on.clusters = on.sockets = 1;
    const numbers found = run(on, 2, [](numbers& out) {
        const std::uint64_t begin = sys::now_ns();
        std::array<std::uint64_t, 3> ends{};
        std::vector<sys::thread> threads;
        for (unsigned i = 0; i != 3; ++i)
            threads.emplace_back([&, i] {
                computed::spend(20'000'000);
                ends[i] = sys::now_ns() - begin;
            });
        for (sys::thread& one : threads) one.join();
        for (unsigned i = 0; i != 3; ++i) out[i] = ends[i];
    });
    for (unsigned i = 0; i != 3; ++i) {
        CHECK(found[i] > 27'000'000); // 60 ms of work on 2 cores, with slices of 1 ms
        CHECK(found[i] < 31'000'000);
    }
}

TEST_CASE("equal runs are equal to the last bit") {
    const auto program = [](numbers& out) {
        const std::uint64_t begin = sys::now_ns();
        sys::atomic<unsigned> ran{0};
        {
            thread_pool pool({.threads = 8});
            for (unsigned i = 0; i != 2'000; ++i) pool.post([&] { ran.fetch_add(1, sys::relaxed); });
        }
        out[0] = sys::now_ns() - begin;
        out[1] = ran.load(sys::relaxed);
    };
    machine on = small();
    on.atomic = on.pause = on.clock = on.yield = 1'000; // a loop that waits must take time
    const numbers first = run(on, 8, program);
    CHECK(first[1] == 2'000);
    CHECK(run(on, 8, program) == first);
    CHECK(run(on, 4, program)[0] != first[0]);
}

TEST_CASE("every table of the project can be read, and a wrong one is refused") {
    for (const char* name : {"two", "desktop8", "xeon16", "server64", "sockets128"})
        CHECK_NOTHROW((void)computed::read_machine(std::string(EKIDEN_TABLES "/") + name + ".table"));
    CHECK(computed::read_machine(EKIDEN_TABLES "/sockets128.table").total() == 128);
    CHECK_THROWS_AS((void)computed::read_machine("no such file"), std::runtime_error);
    char name[] = "/tmp/ekiden_table_XXXXXX";
    const int file = ::mkstemp(name);
    REQUIRE(file >= 0);
    ::close(file);
    std::ofstream(name) << "cores 2\n";
    CHECK_THROWS_AS((void)computed::read_machine(name), std::runtime_error);
    std::ofstream(name) << "coers 2\n";
    CHECK_THROWS_AS((void)computed::read_machine(name), std::runtime_error);
    ::unlink(name);
}

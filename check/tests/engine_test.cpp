// Tests what models rely on: fibers with exceptions and thread-local data, the reset between executions,
// time, and a reduction that loses no outcome.
#include "toy.hpp"

#include <ekiden/sys/asymmetric_fence.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/parker.hpp>
#include <ekiden/sys/thread.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <stdexcept>
#include <string>

using namespace ekiden::sys;
namespace check = ekiden::check;

using toy::passes;
using toy::run;

namespace {

struct pair {
    std::uint16_t low;
    std::uint16_t high;
    bool operator==(const pair&) const = default;
};

enum class colour : std::uint8_t { red, green };

} // namespace

TEST_CASE("an exception passes through a fiber that is switched away inside the catch block") {
    passes([] {
        atomic<int> x{0};
        const auto body = [&](int mine) {
            try {
                x.fetch_add(1, relaxed);
                throw mine;
            } catch (int caught) {
                x.fetch_add(1, relaxed); // other threads run here
                check::that(std::current_exception() != nullptr, "the exception is still current");
                check::that(caught == mine, "each thread catches its own");
            }
            check::that(std::current_exception() == nullptr, "no exception is current any more");
        };
        thread a(body, 1);
        thread b(body, 2);
        a.join();
        b.join();
    });
}

TEST_CASE("each thread has its own thread-local object, and its actions run at its end, newest first") {
    passes([] {
        struct mine {
            int value;
        };
        int order[2] = {};
        int next = 0;
        static int* slots;
        static int* at;
        slots = order;
        at = &next;
        thread t([] {
            check::that(local<mine>().value == 0, "a new thread's object is zero");
            local<mine>().value = 5;
            (void)at_thread_exit([](void*) { slots[(*at)++] = 1; }, nullptr);
            (void)at_thread_exit([](void*) { slots[(*at)++] = 2; }, nullptr);
        });
        local<mine>().value = 3;
        t.join();
        check::that(local<mine>().value == 3, "another thread's object is another one");
        check::that(order[0] == 2 && order[1] == 1, "newest first");
    });
}

TEST_CASE("static storage is as new in each execution") {
    passes([] {
        static int count = 0;
        static atomic<int> constant{4};
        check::that(++count == 1, "this static has been put back");
        thread t([] { check::that(constant.fetch_add(1, relaxed) == 4, "and so has the atomic one"); });
        t.join();
    });
}

TEST_CASE("values of every trivially copyable type up to 8 bytes keep their bits") {
    passes([] {
        atomic<pair> p{pair{1, 2}};
        check::that(p.load(relaxed) == pair{1, 2}, "a small struct");
        pair expected{1, 2};
        check::that(p.compare_exchange_strong(expected, pair{3, 4}, acq_rel), "compare_exchange of a struct");
        atomic<colour> c{colour::red};
        c.store(colour::green, relaxed);
        check::that(c.load(relaxed) == colour::green, "an enumeration");
        atomic<bool> b{false};
        check::that(!b.exchange(true, relaxed) && b.load(relaxed), "a bool");
        int array[4] = {};
        atomic<int*> pointer{array};
        check::that(pointer.fetch_add(3, relaxed) == array && pointer.load(relaxed) == array + 3,
                    "a pointer");
        atomic<std::int8_t> small{127};
        check::that(small.fetch_add(1, relaxed) == 127 && small.load(relaxed) == -128, "wrap-around");
        atomic<std::uint64_t> wide{~std::uint64_t{0}};
        check::that(wide.fetch_and(0xFF00, relaxed) + 1 == 0 && wide.load(relaxed) == 0xFF00, "and");
        check::that(wide.fetch_or(1, relaxed) == 0xFF00 && wide.fetch_xor(3, relaxed) == 0xFF01, "or, xor");
        check::that(wide.load(relaxed) == 0xFF02, "xor");
    });
}

TEST_CASE("a timed wait runs out although its thread could be woken, and time has passed then") {
    const check::result r = run([] {
        atomic<std::uint32_t> word{0};
        thread waker([&] {
            word.store(1, release);
            (void)futex_wake(word);
        });
        const auto start = clock::now();
        const bool woken = futex_wait_until(word, 0, start + std::chrono::milliseconds(5));
        if (!woken) check::that(clock::now() - start >= std::chrono::milliseconds(5), "time has passed");
        waker.join();
        check::outcome({woken});
    });
    CAPTURE(r.failure);
    CHECK(!r.failed);
    CHECK(r.found.outcomes == std::set<std::string>{"0", "1"});
}

TEST_CASE("a timed spin may run out") {
    const check::result r = run([] {
        atomic<int> flag{0};
        thread setter([&] { flag.store(1, release); });
        const std::uint64_t end = now_ns() + 20'000;
        bool seen = false;
        while (!(seen = flag.load(acquire) != 0) && now_ns() < end) spin_hint();
        check::outcome({seen});
        setter.join();
    });
    CHECK(!r.failed);
    CHECK(r.found.outcomes == std::set<std::string>{"0", "1"});
}

TEST_CASE("a parker keeps a token that comes before the park, and never wakes without one") {
    passes([] {
        parker p;
        atomic<int> tokens{0};
        thread waker([&] {
            tokens.store(1, relaxed);
            p.unpark();
        });
        p.park();
        check::that(tokens.load(relaxed) == 1, "the token orders what was written before it");
        waker.join();
    });
}

TEST_CASE("the choices of a model are all taken") {
    const check::result r = run([] { check::outcome({check::choose(3), check::choose(2)}); });
    CHECK(r.found.outcomes.size() == 6);
    CHECK(r.executions == 6);
}

TEST_CASE("a choice among more than 65,536 numbers explores each of them") {
    static constexpr unsigned many = 65'536 + 3;
    const auto body = [] { check::that(check::choose(many) != many - 1, "the last one"); };
    const check::result r = run(body);
    REQUIRE(r.failed);
    CHECK(r.executions == many);
    CHECK(check::replay({"toy", "tests", {}, body}, r.replay).failure == "the last one");
}

TEST_CASE("a choice among no numbers is refused") {
    toy::fails_with([] { (void)check::choose(0); }, "choose(0)");
}

TEST_CASE("a model that depends on anything but the checker's choices is reported") {
    static int* outer = nullptr; // restored between executions, but the object that it points to is not
    static int runs = 0;
    (void)runs;
    outer = static_cast<int*>(std::malloc(sizeof(int)));
    *outer = 0;
    const check::result r = run([] {
        const int run_number = (*outer)++;
        (void)check::choose(2);
        if (run_number != 0) (void)check::choose(5);
        (void)check::choose(3);
    });
    std::free(outer);
    CHECK(r.failed);
    CHECK(r.failure.find("took another course") != std::string::npos);
}

namespace {

// Three threads use three locations with every kind of access. The test compares the outcomes and does not
// judge them.
void busy_toy() {
    struct shared {
        atomic<int> x{0};
        atomic<int> y{0};
        atomic<std::uint32_t> z{0};
        int r[5] = {};
    } s;
    thread a([&] {
        s.x.store(1, relaxed);
        fence(seq_cst);
        s.r[0] = s.y.load(relaxed);
        s.z.fetch_add(1, acq_rel);
    });
    thread b([&] {
        s.y.store(1, seq_cst);
        s.r[1] = s.x.load(seq_cst);
        s.x.store(2, release);
    });
    thread c([&] {
        s.r[2] = static_cast<int>(s.z.exchange(7, acquire));
        s.r[3] = s.x.load(acquire);
        s.r[4] = s.y.load(relaxed);
    });
    a.join();
    b.join();
    c.join();
    check::outcome({s.r[0], s.r[1], s.r[2], s.r[3], s.r[4], s.x.load(relaxed), s.z.load(relaxed)});
}

void sleeping_toy() {
    struct shared {
        atomic<std::uint32_t> word{0};
        atomic<int> x{0};
        int r[2] = {};
    } s;
    thread a([&] {
        s.x.store(1, relaxed);
        while (s.word.load(acquire) == 0) futex_wait(s.word, 0);
        s.r[0] = s.x.load(relaxed);
    });
    thread b([&] {
        s.r[1] = s.x.load(relaxed);
        s.x.store(2, relaxed);
        s.word.store(1, release);
        (void)futex_wake(s.word);
    });
    a.join();
    b.join();
    check::outcome({s.r[0], s.r[1], s.x.load(relaxed)});
}

void fenced_toy() {
    struct shared {
        atomic<long> x{0};
        atomic<long> y{0};
        long r[4] = {};
    } s;
    thread a([&] {
        s.x.store(1, relaxed);
        fence_light();
        s.r[0] = s.y.load(relaxed);
    });
    thread b([&] {
        s.y.store(1, relaxed);
        fence_heavy();
        s.r[1] = s.x.load(relaxed);
    });
    thread c([&] {
        s.r[2] = s.y.load(relaxed);
        fence_light();
        s.r[3] = s.x.exchange(3, relaxed);
    });
    a.join();
    b.join();
    c.join();
    check::outcome({s.r[0], s.r[1], s.r[2], s.r[3], s.x.load(relaxed)});
}

} // namespace

TEST_CASE("the reduction loses no outcome at any bound of preemptions and old values") {
    for (void (*toy)() : {busy_toy, sleeping_toy, fenced_toy}) {
        for (const unsigned old_values : {0U, 1U, 2U, check::unbounded}) {
            for (unsigned bound = 0; bound <= 3; ++bound) {
                CAPTURE(bound);
                CAPTURE(old_values);
                const check::options how{.old_values = old_values, .preemptions = bound};
                const check::result reduced = run(toy, how);
                check::options unreduced = how;
                unreduced.reduce = false;
                const check::result full = run(toy, unreduced);
                REQUIRE(!reduced.failed);
                REQUIRE(full.complete);
                CHECK(reduced.found.outcomes == full.found.outcomes);
                CHECK(reduced.executions <= full.executions);
            }
        }
    }
}

TEST_CASE("without old values the memory is sequentially consistent, and the search says what it left out") {
    const auto body = [] {
        atomic<int> x{0};
        atomic<int> y{0};
        int seen = 0;
        thread a([&] {
            x.store(1, relaxed);
            seen = y.load(relaxed);
        });
        y.store(1, relaxed);
        const int mine = x.load(relaxed);
        a.join();
        check::outcome({seen, mine});
    };
    const check::result none = run(body, {.old_values = 0, .preemptions = 3});
    CHECK(none.complete);
    CHECK(!none.unbounded);
    CHECK(none.found.outcomes == std::set<std::string>{"0 1", "1 0", "1 1"});
    const check::result one = run(body, {.old_values = 1, .preemptions = 3});
    CHECK(one.found.outcomes == std::set<std::string>{"0 0", "0 1", "1 0", "1 1"});
}

TEST_CASE("random priorities find an order of depth two, and its replay string repeats it") {
    const auto body = [] {
        atomic<int> x{0};
        atomic<int> y{0};
        thread a([&] {
            x.store(1, relaxed);
            check::that(y.load(relaxed) == 0 || x.load(relaxed) == 2, "not between the two stores");
        });
        thread b([&] {
            y.store(1, relaxed);
            x.store(2, relaxed);
        });
        a.join();
        b.join();
    };
    const check::result r = run(body, {}, {.random = true, .executions = 100'000});
    REQUIRE(r.failed);
    const check::model m{"toy", "tests", {}, body};
    CHECK(check::replay(m, r.replay).failure == r.failure);
    const check::result bounded = run(body, {.old_values = 1});
    REQUIRE(bounded.failed);
    CHECK(check::replay(m, bounded.replay).failure == bounded.failure);
    CHECK_THROWS_AS((void)check::replay(m, "nonsense"), std::invalid_argument);
}

TEST_CASE("a weakened order at one site, and a logic mutant, are applied to that execution only") {
    const auto body = [] {
        cell<int> data;
        atomic<bool> ready{false};
        thread writer([&] {
            data.write(1);
            if (!EKIDEN_MUTANT(engine_test_forget)) ready.store(true, release);
        });
        while (!ready.load(acquire)) yield();
        (void)data.read();
        writer.join();
    };
    const check::result found = run(body, {}, {.discover = true});
    CHECK(!found.failed);
    CHECK(found.found.logic == std::set<std::string>{"engine_test_forget"});
    REQUIRE(found.found.sites.size() == 2);
    for (const check::order_site& at : found.found.sites)
        CHECK(run(body, {}, {.mutant = check::mutation{{}, at, relaxed}}).failure.find("data race") == 0);
    CHECK(run(body, {}, {.mutant = check::mutation{"engine_test_forget", {}, {}}}).failure.find("livelock")
          == 0);
    CHECK(!run(body).failed);
}

// A trace contains what the threads did, and nothing else.
#include <doctest/doctest.h>
#include <ekiden/observe/detail/recorder.hpp>
#include <ekiden/observe/trace.hpp>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace ekiden;
using trace::event;
using trace::kind;

namespace {

/// A recording of a test.
struct recording {
    explicit recording(const trace::options& chosen = {}) { trace::start(chosen); }
    ~recording() { trace::stop(); }
};

/// Returns the track with a mark of this name, which is the track of the thread that set the mark.
const trace::track* track_with(const trace::snapshot& shot, std::string_view name) {
    for (const trace::track& t : shot.tracks)
        for (const event& e : t.events)
            if (e.name == name) return &t;
    return nullptr;
}

std::vector<event> named(const trace::track& of, std::string_view name) {
    std::vector<event> found;
    std::copy_if(of.events.begin(), of.events.end(), std::back_inserter(found),
                 [name](const event& e) { return e.name == name; });
    return found;
}

} // namespace

TEST_CASE("nothing is recorded while tracing is off") {
    trace::stop();
    CHECK_FALSE(trace::is_on());
    trace::mark("while it is off");
    {
        const trace::span s("while it is off");
    }
    trace::start();
    CHECK(trace::is_on());
    const trace::snapshot shot = trace::take();
    trace::stop();
    CHECK(track_with(shot, "while it is off") == nullptr);
}

TEST_CASE("marks keep their names, numbers and order") {
    const recording on;
    for (unsigned i = 0; i != 100; ++i) trace::mark("ordered", i);
    const trace::snapshot shot = trace::take();
    const trace::track* const mine = track_with(shot, "ordered");
    REQUIRE(mine != nullptr);
    const std::vector<event> marks = named(*mine, "ordered");
    REQUIRE(marks.size() == 100);
    for (unsigned i = 0; i != 100; ++i) {
        CHECK(marks[i].kind == kind::mark);
        CHECK(marks[i].id == i);
        CHECK(marks[i].length == 0);
        if (i != 0) CHECK(marks[i].begin >= marks[i - 1].begin);
    }
    CHECK(marks.back().begin <= shot.length);
    CHECK(mine->overwritten == 0);
}

TEST_CASE("spans nest in time as they do in the program, and times are those of the steady clock") {
    const recording on;
    const auto begin = std::chrono::steady_clock::now();
    {
        const trace::span outer("outer");
        {
            const trace::span inner("inner");
        }
        trace::mark("in between");
        const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
        while (std::chrono::steady_clock::now() < until) {
        }
    }
    const trace::snapshot shot = trace::take();
    const auto most = std::chrono::steady_clock::now() - begin;
    const trace::track* const mine = track_with(shot, "outer");
    REQUIRE(mine != nullptr);
    REQUIRE(named(*mine, "outer").size() == 1);
    REQUIRE(named(*mine, "inner").size() == 1);
    const event outer = named(*mine, "outer")[0];
    const event inner = named(*mine, "inner")[0];
    CHECK(outer.kind == kind::span);
    CHECK_FALSE(outer.is_open);
    CHECK(outer.begin <= inner.begin);
    CHECK(inner.end() <= named(*mine, "in between")[0].begin);
    CHECK(named(*mine, "in between")[0].begin <= outer.end());
    // The two clocks are compared over at least 5 ms. Another thread may run between two readings.
    CHECK(outer.length >= 19'000'000);
    CHECK(outer.length <= std::chrono::nanoseconds(most).count() * 1.05);
}

TEST_CASE("a span that has not ended is shown as open, once") {
    const recording on;
    {
        const trace::span outer("still open");
        const trace::span inner("still open inside");
        const trace::snapshot shot = trace::take();
        const trace::track* const mine = track_with(shot, "still open");
        REQUIRE(mine != nullptr);
        const std::vector<event> open = named(*mine, "still open");
        REQUIRE(open.size() == 1);
        CHECK(open[0].is_open);
        CHECK(open[0].length > 0);
        CHECK(named(*mine, "still open inside").size() == 1);
    }
    const trace::snapshot shot = trace::take();
    const std::vector<event> ended = named(*track_with(shot, "still open"), "still open");
    REQUIRE(ended.size() == 1);
    CHECK_FALSE(ended[0].is_open);
}

TEST_CASE("spans deeper than are shown while they are open are there when they have ended") {
    const recording on;
    struct nest {
        static void to(int depth) {
            if (depth == 0) return;
            const trace::span here("deep");
            to(depth - 1);
        }
    };
    nest::to(30);
    const trace::snapshot shot = trace::take();
    const std::vector<event> spans = named(*track_with(shot, "deep"), "deep");
    REQUIRE(spans.size() == 30);
    for (std::size_t i = 1; i != spans.size(); ++i) { // the innermost interval ends first
        CHECK(spans[i].begin <= spans[i - 1].begin);
        CHECK(spans[i].end() >= spans[i - 1].end());
    }
}

TEST_CASE("the oldest events are overwritten, and counted") {
    std::thread([] { // in a new thread, because the memory of a thread keeps its size
        const recording on({.events = 64});
        for (unsigned i = 0; i != 1000; ++i) trace::mark("many", i);
        const trace::snapshot shot = trace::take();
        const trace::track* const mine = track_with(shot, "many");
        REQUIRE(mine != nullptr);
        const std::vector<event> kept = named(*mine, "many");
        CHECK(kept.size() == 63); // the place of the next record may be half written
        CHECK(kept.back().id == 999);
        CHECK(mine->overwritten == 1000 - 63);
    })
        .join();
}

TEST_CASE("a new recording forgets the old one, and a span that lasts through its start is cut there") {
    trace::start();
    trace::mark("of the old one");
    {
        const trace::span through("through the start");
        trace::start();
        trace::mark("of the new one");
    }
    const trace::snapshot shot = trace::take();
    trace::stop();
    CHECK(track_with(shot, "of the old one") == nullptr);
    const trace::track* const mine = track_with(shot, "of the new one");
    REQUIRE(mine != nullptr);
    CHECK(mine->overwritten == 0);
    const std::vector<event> cut = named(*mine, "through the start");
    REQUIRE(cut.size() == 1);
    CHECK(cut[0].begin == 0);
    CHECK(cut[0].end() <= shot.length);
}

TEST_CASE("what was recorded stays after the stop, and nothing is added") {
    trace::start();
    trace::mark("before the stop");
    trace::stop();
    trace::mark("after the stop");
    const trace::snapshot shot = trace::take();
    CHECK(track_with(shot, "before the stop") != nullptr);
    CHECK(track_with(shot, "after the stop") == nullptr);
    CHECK(trace::take().length == shot.length);
}

TEST_CASE("threads have tracks of their own, also when they have ended, until another one needs the place") {
    const recording on;
    std::vector<std::thread> threads;
    std::atomic<int> arrived{0};
    for (int i = 0; i != 4; ++i) {
        threads.emplace_back([&] {
            arrived.fetch_add(1);
            while (arrived.load() != 4) std::this_thread::yield();
            trace::mark("of four");
        });
    }
    for (std::thread& t : threads) t.join();
    const trace::snapshot shot = trace::take();
    std::vector<std::uint64_t> ids;
    for (const trace::track& t : shot.tracks) {
        if (named(t, "of four").empty()) continue;
        CHECK(named(t, "of four").size() == 1);
        ids.push_back(t.thread_id);
    }
    std::sort(ids.begin(), ids.end());
    CHECK(ids.size() == 4);
    CHECK(std::unique(ids.begin(), ids.end()) == ids.end());
}

TEST_CASE("a thread without a place loses its events, and the loss is counted") {
    // The memory of threads is never freed, so the current number stays.
    trace::start();
    trace::mark("has a place");
    const std::size_t taken = trace::take().tracks.size();
    REQUIRE(taken >= 1);
    const recording on({.threads = 1});
    trace::mark("has a place");
    std::vector<std::thread> others;
    std::atomic<unsigned> arrived{0};
    constexpr unsigned count = 40; // more threads than there is memory for, all at the same time
    for (unsigned i = 0; i != count; ++i) {
        others.emplace_back([&] {
            trace::mark("a place or not");
            arrived.fetch_add(1);
            while (arrived.load() != count) std::this_thread::yield();
        });
    }
    for (std::thread& t : others) t.join();
    const trace::snapshot shot = trace::take();
    std::size_t kept = 0;
    for (const trace::track& t : shot.tracks) kept += named(t, "a place or not").size();
    CHECK(kept + shot.lost == count);
    CHECK(shot.lost > 0);
}

TEST_CASE("a place of a thread that has ended is used again") {
    const recording on({.threads = 1});
    std::size_t most = 0;
    for (int i = 0; i != 50; ++i) {
        std::thread([] { trace::mark("one after the other"); }).join();
        most = std::max(most, trace::take().tracks.size());
    }
    const trace::snapshot shot = trace::take();
    CHECK(shot.lost == 0);
    CHECK(most <= trace::options{}.threads);
}

TEST_CASE("a destructor at the thread's end records, or is counted as lost") {
    struct late {
        ~late() { trace::mark("at the thread's end"); }
    };
    const recording on;
    std::thread([] {
        thread_local late before; // created first, destroyed last
        (void)before;
        trace::mark("in the thread");
        thread_local late after;
        (void)after;
    }).join();
    const trace::snapshot shot = trace::take();
    const trace::track* const its = track_with(shot, "in the thread");
    REQUIRE(its != nullptr);
    CHECK(named(*its, "at the thread's end").size() + shot.lost == 2);
}

TEST_CASE("snapshots are taken while threads record: no torn event, none twice") {
    const recording on({.events = 256});
    std::atomic<bool> ends{false};
    std::vector<std::thread> writers;
    for (int w = 0; w != 2; ++w) {
        writers.emplace_back([&] {
            for (std::uint32_t i = 0; !ends.load(std::memory_order_relaxed); ++i) {
                trace::mark("counted", i);
                const trace::span s("spanned");
            }
        });
    }
    for (int i = 0; i != 50; ++i) {
        const trace::snapshot shot = trace::take();
        for (const trace::track& t : shot.tracks) {
            const std::vector<event> marks = named(t, "counted");
            for (std::size_t m = 1; m < marks.size(); ++m) {
                CHECK(marks[m].id == marks[m - 1].id + 1);
                CHECK(marks[m].begin >= marks[m - 1].begin);
            }
            const std::vector<event> spans = named(t, "spanned");
            for (std::size_t s = 1; s < spans.size(); ++s) CHECK(spans[s].begin >= spans[s - 1].end());
        }
    }
    ends.store(true);
    for (std::thread& w : writers) w.join();
}

TEST_CASE("start and stop while threads record") {
    std::atomic<bool> ends{false};
    std::thread writer([&] {
        while (!ends.load(std::memory_order_relaxed)) {
            const trace::span s("through all");
            trace::mark("through all");
        }
    });
    for (int i = 0; i != 200; ++i) {
        trace::start();
        if (i % 3 == 0) trace::stop();
    }
    const trace::snapshot shot = trace::take();
    ends.store(true);
    writer.join();
    trace::stop();
    for (const trace::track& t : shot.tracks)
        for (const event& e : t.events) {
            CHECK(e.begin >= 0);
            CHECK(e.end() <= shot.length);
        }
}

TEST_CASE("a snapshot of a long recording is as long as the times of its events can tell") {
    using trace::packed;
    constexpr std::uint64_t most = packed::time_mask / 2;
    CHECK(packed::snapshot_length(5e9, 7) == 7);
    CHECK(packed::snapshot_length(5, 7) == 5);
    for (const std::uint64_t recorded : {most + 1, packed::time_mask + 1, ~std::uint64_t{0}}) {
        CHECK(packed::snapshot_length(1e19, recorded) == most);
        CHECK(packed::snapshot_length(5, recorded) == 5);
    }
}

TEST_CASE("numbers out of range are refused, and what is recorded stays") {
    const recording on;
    trace::mark("before the refusal");
    CHECK_THROWS_WITH_AS(trace::start({.events = 0}), "trace::start: events is 0, allowed is 1 to 2^24",
                         std::invalid_argument);
    CHECK_THROWS_WITH_AS(trace::start({.threads = 0}), "trace::start: threads is 0, allowed is 1 to 65536",
                         std::invalid_argument);
    CHECK_THROWS_AS(trace::start({.events = ~std::size_t{0}}), std::invalid_argument);
    CHECK(trace::is_on());
    CHECK(track_with(trace::take(), "before the refusal") != nullptr);
}

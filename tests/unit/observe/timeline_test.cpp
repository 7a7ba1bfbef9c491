// The picture of a trace for a terminal, from handmade snapshots.
#include "foreign_format.hpp"

#include <doctest/doctest.h>
#include <ekiden/observe/timeline.hpp>

#include <sstream>
#include <stdexcept>
#include <string>

using namespace ekiden;
using trace::event;
using trace::kind;

namespace {

event made(kind what, std::int64_t begin, std::int64_t length) {
    event e;
    e.kind = what;
    e.name = "x";
    e.begin = begin;
    e.length = length;
    return e;
}

std::string timeline_of(const trace::snapshot& shot, const timeline_options& options) {
    std::ostringstream out;
    write_timeline(out, shot, options);
    return out.str();
}

} // namespace

TEST_CASE("each thread has a line, and below it the sums") {
    trace::snapshot shot;
    shot.length = 10'000;
    trace::track& a = shot.tracks.emplace_back();
    a.thread_name = "pool-0";
    a.events = {made(kind::parked, 0, 2000),  made(kind::span, 3000, 1000),
                made(kind::task, 2000, 4000), made(kind::lock_wait, 6000, 1000),
                made(kind::queued, 6500, 0),  made(kind::blocked, 8000, 2000)};
    trace::track& b = shot.tracks.emplace_back();
    b.thread_name = "main";
    b.overwritten = 3;
    CHECK(timeline_of(shot, {.columns = 10})
          == "pool-0 |..#=##l bb|\n"
             "        # tasks 4 us, = spans 1 us, . parked 2 us, l waiting for locks 1 us, b blocked 2 us, 1 "
             "posted\n"
             "main   |          |\n"
             "        3 older events are not kept\n"
             "10 us in all\n");
}

TEST_CASE("tasks inside of a task are not counted twice") {
    trace::snapshot shot;
    shot.length = 1000;
    trace::track& a = shot.tracks.emplace_back();
    a.thread_name = "t";
    a.events = {made(kind::task, 100, 100), made(kind::task, 300, 100), made(kind::task, 0, 500),
                made(kind::task, 600, 100)};
    CHECK(timeline_of(shot, {.columns = 10}).find("# tasks 600 ns") != std::string::npos);
}

TEST_CASE("the last part can be shown alone") {
    trace::snapshot shot;
    shot.length = 10'000;
    trace::track& a = shot.tracks.emplace_back();
    a.thread_name = "t";
    a.events = {made(kind::task, 0, 9500)};
    CHECK(timeline_of(shot, {.columns = 10, .last = std::chrono::microseconds(1)}).find("|##### ")
          != std::string::npos);
}

TEST_CASE("events of threads without a place are told") {
    trace::snapshot shot;
    shot.lost = 5;
    CHECK(timeline_of(shot, {}) == "0 ns in all; 5 events of threads without a place are lost\n");
}

TEST_CASE("a picture without columns is refused") {
    CHECK_THROWS_WITH_AS(timeline_of({}, {.columns = 0}),
                         "write_timeline: columns is 0, allowed is 1 or more", std::invalid_argument);
}

TEST_CASE("the picture is the same whatever the global locale and the format of the stream") {
    trace::snapshot shot;
    shot.length = 1'234'567;
    shot.lost = 12'345;
    trace::track& a = shot.tracks.emplace_back();
    a.thread_name = "t";
    a.events = {made(kind::task, 0, 1'234'567)};
    for (int i = 0; i != 1500; ++i) a.events.push_back(made(kind::queued, 1'234'567, 0));
    a.overwritten = 54'321;
    CHECK(timeline_of(shot, {.columns = 2})
          == "t |##|\n"
             "   # tasks 1.23 ms, 1500 posted, 54321 older events are not kept\n"
             "1.23 ms in all; 12345 events of threads without a place are lost\n");
    CHECK(ekiden_test::written_in_foreign_format(
              [&](std::ostream& to) { write_timeline(to, shot, {.columns = 2}); })
          == timeline_of(shot, {.columns = 2}));
}

TEST_CASE("names with characters of several bytes keep the lines in place, and wrong bytes are replaced") {
    trace::snapshot shot;
    shot.length = 1000;
    for (const char* name : {"ger\xc3\xa4t", "worker", "cut\xc3"}) {
        trace::track& one = shot.tracks.emplace_back();
        one.thread_name = name;
    }
    CHECK(timeline_of(shot, {.columns = 2})
          == "ger\xc3\xa4t  |  |\n"
             "worker |  |\n"
             "cut\xef\xbf\xbd   |  |\n"
             "1 us in all\n");
}

// The JSON of a trace, from handmade snapshots. tests/trace checks the trace of a program with parsers of
// other projects.
#include "foreign_format.hpp"

#include <doctest/doctest.h>
#include <ekiden/observe/chrome_trace.hpp>

#include <sstream>
#include <string>
#include <vector>

using namespace ekiden;
using trace::event;
using trace::kind;

namespace {

std::string written(const trace::snapshot& shot, const chrome_trace_options& options = {}) {
    std::ostringstream out;
    write_chrome_trace(out, shot, options);
    return out.str();
}

event made(kind what, std::string_view name, std::int64_t begin, std::int64_t length, std::uint64_t id = 0) {
    event e;
    e.kind = what;
    e.name = name;
    e.begin = begin;
    e.length = length;
    e.id = id;
    return e;
}

trace::snapshot of_thread(std::vector<event> events) {
    trace::snapshot shot;
    shot.length = 1'000'000;
    trace::track& only = shot.tracks.emplace_back();
    only.thread_id = 7;
    only.thread_name = "worker";
    only.events = std::move(events);
    return shot;
}

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
}

const std::string head = "[\n{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"process_name\",\"args\":"
                         "{\"name\":\"threads\"}}";
const std::string thread_head =
    head + ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":7,\"name\":\"thread_name\",\"args\":{\"name\":\"worker\"}}";

} // namespace

TEST_CASE("an empty trace is a list that viewers take") { CHECK(written({}) == head + "\n]\n"); }

TEST_CASE("an interval is a slice, in microseconds with three decimals") {
    CHECK(written(of_thread({made(kind::task, "f", 1'234'005, 42, 9)}))
          == thread_head
                 + ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":7,\"cat\":\"task\",\"name\":\"f\",\"ts\":1234.005,"
                   "\"dur\":0.042,\"args\":{\"id\":9}}\n]\n");
}

TEST_CASE("a moment is an instant of the thread, and a mark has a value") {
    CHECK(written(of_thread({made(kind::mark, "m", 5, 0, 3), made(kind::timer, "?", 6, 0, 4)}))
          == thread_head
                 + ",\n{\"ph\":\"i\",\"pid\":1,\"tid\":7,\"cat\":\"mark\",\"name\":\"m\",\"ts\":0.005,"
                   "\"s\":\"t\",\"args\":{\"value\":3}}"
                   ",\n{\"ph\":\"i\",\"pid\":1,\"tid\":7,\"cat\":\"timer\",\"name\":\"timer\",\"ts\":0.006,"
                   "\"s\":\"t\",\"args\":{\"id\":4}}\n]\n");
}

TEST_CASE("names are escaped") {
    const std::string text = written(of_thread({made(kind::mark, "a\"b\\c\n\x1f", 0, 0)}));
    CHECK(text.find("\"a\\\"b\\\\c\\u000a\\u001f\"") != std::string::npos);
}

TEST_CASE("bytes of a name that are no UTF-8 become the replacement character") {
    trace::snapshot shot = of_thread({made(kind::mark, "\xff\xc3\xa4\xed\xa0\x80z", 0, 0)});
    shot.tracks[0].thread_name =
        "ger\xc3\xa4t-ger\xc3\xa4t-ger\xc3"; // as the system cuts a name after 15 bytes
    const std::string text = written(shot);
    CHECK(text.find("\"name\":\"ger\xc3\xa4t-ger\xc3\xa4t-ger\xef\xbf\xbd\"") != std::string::npos);
    CHECK(text.find("\"name\":\"\xef\xbf\xbd\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\"")
          != std::string::npos);
}

TEST_CASE("the text is the same whatever the global locale and the format of the stream") {
    trace::snapshot shot = of_thread({made(kind::queued, "?", 1'500'000, 0, 123'456),
                                      made(kind::task, "f", 1'234'567'890, 42'000'000, 123'456),
                                      made(kind::turn, "strand", 1'234'567'891, 1'000'000, 7'000),
                                      made(kind::mark, "m", 2'000'000'000, 0, 9'876'543)});
    shot.tracks[0].thread_id = 123'456;
    shot.tracks[0].overwritten = 54'321;
    const chrome_trace_options options{.most_lanes = 2};
    CHECK(ekiden_test::written_in_foreign_format(
              [&](std::ostream& to) { write_chrome_trace(to, shot, options); })
          == written(shot, options));
}

TEST_CASE("a slice that would end after the one that it lies in, by rounding, is cut") {
    // Viewers drop a slice that overlaps another slice of its thread.
    const std::string text =
        written(of_thread({made(kind::span, "inner", 500, 501), made(kind::task, "outer", 0, 1000)}));
    CHECK(text.find("\"name\":\"inner\",\"ts\":0.500,\"dur\":0.500") != std::string::npos);
    CHECK(text.find("\"name\":\"outer\",\"ts\":0.000,\"dur\":1.000") != std::string::npos);
    CHECK(text.find("outer") < text.find("inner")); // the enclosing slice comes first
}

TEST_CASE("a slice that begins where another one ends is not cut") {
    const std::string text =
        written(of_thread({made(kind::task, "first", 0, 500), made(kind::task, "second", 500, 700)}));
    CHECK(text.find("\"name\":\"second\",\"ts\":0.500,\"dur\":0.700") != std::string::npos);
}

TEST_CASE("an arrow goes from the post to the run of the same task, under a number of its own") {
    // A later task has the same address.
    const std::string text =
        written(of_thread({made(kind::queued, "?", 10, 0, 5), made(kind::task, "f", 20, 10, 5),
                           made(kind::queued, "?", 40, 0, 5), made(kind::task, "f", 50, 10, 5),
                           made(kind::task, "unknown origin", 70, 10, 5)}));
    CHECK(count(text, "\"ph\":\"s\"") == 2);
    CHECK(count(text, "\"ph\":\"f\"") == 2);
    CHECK(text.find("\"name\":\"post\",\"ts\":0.010,\"id\":1}") != std::string::npos);
    CHECK(text.find("\"name\":\"post\",\"ts\":0.020,\"bp\":\"e\",\"id\":1}") != std::string::npos);
    CHECK(text.find("\"name\":\"post\",\"ts\":0.040,\"id\":2}") != std::string::npos);
    CHECK(text.find("\"name\":\"post\",\"ts\":0.050,\"bp\":\"e\",\"id\":2}") != std::string::npos);
}

TEST_CASE(
    "arrows go from the grant of a lock into the wait that it ends, and from a suspension to what follows") {
    const std::string text =
        written(of_thread({made(kind::granted, "?", 90, 0, 5), made(kind::lock_wait, "a mutex", 10, 100, 5),
                           made(kind::suspended, "?", 200, 0, 6), made(kind::resumed, "?", 300, 0, 6)}));
    CHECK(text.find("\"name\":\"grant\",\"ts\":0.109,\"bp\":\"e\"") != std::string::npos); // inside the slice
    CHECK(text.find("\"name\":\"resume\",\"ts\":0.300,\"bp\":\"e\"") != std::string::npos);
}

TEST_CASE("of too many events the newest are written, and the track says how many are missing") {
    std::vector<event> many;
    for (int i = 0; i != 1000; ++i)
        many.push_back(made(kind::mark, "m", i, 0, static_cast<std::uint64_t>(i)));
    const std::string text = written(of_thread(many), {.most_events = 10});
    CHECK(count(text, "\"name\":\"m\"") == 10);
    CHECK(text.find("\"value\":999}") != std::string::npos);
    CHECK(
        text.find("\"name\":\"older events are not kept\",\"ts\":0.990,\"s\":\"t\",\"args\":{\"value\":990}")
        != std::string::npos);
}

TEST_CASE("of many events that end at the same time only as many are written as are wanted, also none") {
    std::vector<event> many;
    for (int i = 0; i != 100; ++i) many.push_back(made(kind::span, "m", i, 1000 - i));
    for (const std::size_t most : {0U, 1U, 10U}) {
        const std::string text = written(of_thread(many), {.most_events = most});
        CHECK(count(text, "\"name\":\"m\"") == most);
        CHECK(text.find("\"args\":{\"value\":" + std::to_string(100 - most) + "}") != std::string::npos);
    }
}

TEST_CASE("an interval that has not ended says so") {
    trace::snapshot shot = of_thread({made(kind::task, "f", 0, 1'000'000)});
    shot.tracks[0].events[0].is_open = true;
    CHECK(written(shot).find("\"open\":true") != std::string::npos);
}

TEST_CASE("lanes have tracks, the busiest ones, in a process of their own") {
    const trace::snapshot shot =
        of_thread({made(kind::turn, "lane", 0, 10, 1), made(kind::turn, "lane", 20, 500, 2),
                   made(kind::turn, "strand", 600, 100, 2)});
    CHECK(written(shot).find("\"pid\":2") == std::string::npos);
    const std::string text = written(shot, {.most_lanes = 2});
    CHECK(text.find("strands and lanes, the busiest 2 of 3") != std::string::npos);
    CHECK(text.find("\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"lane 2\"}")
          != std::string::npos);
    CHECK(text.find("\"tid\":2,\"name\":\"thread_name\",\"args\":{\"name\":\"strand 2\"}")
          != std::string::npos);
    CHECK(text.find("\"lane 1\"") == std::string::npos);
}

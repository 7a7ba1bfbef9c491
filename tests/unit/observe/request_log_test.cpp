#include "foreign_format.hpp"

#include <ekiden/execution/bind_executor.hpp>
#include <ekiden/execution/post.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/observe/request_log.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <time.h>
#include <vector>

using ekiden::request_log;

namespace {

struct line {
    std::uint64_t arrival_ns = 0, key = 0, service_ns = 0, block_ns = 0;
};

struct contents {
    request_log::summary counts;
    std::vector<line> lines;
};

contents contents_of(const request_log& log) {
    std::stringstream text;
    contents found{.counts = log.write_csv(text), .lines = {}};
    std::string names;
    std::getline(text, names);
    CHECK(names == "arrival_ns,key,service_ns,block_ns");
    char comma = 0;
    for (line l; text >> l.arrival_ns >> comma >> l.key >> comma >> l.service_ns >> comma >> l.block_ns;)
        found.lines.push_back(l);
    CHECK(text.eof());
    CHECK(found.lines.size() == found.counts.written);
    return found;
}

std::uint64_t clock_ns(clockid_t which) {
    timespec now{};
    clock_gettime(which, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

/// Uses at least the given amount of processor time.
void work_for(std::uint64_t ns) {
    const std::uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
    const std::uint64_t passed =
        clock_ns(CLOCK_MONOTONIC) + ns; // a clock of a thread may advance in large steps
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end || clock_ns(CLOCK_MONOTONIC) < passed) {
    }
}

} // namespace

TEST_CASE("A request log writes requests in the order of their arrival, not of their end") {
    request_log log({.capacity = 10, .plain_numbers = true});
    auto first = log.wrap(7, [] { return 1; });
    auto second = log.wrap(-1, [] { return 2; });
    auto never = log.wrap(9, [] {});
    CHECK(second() == 2);
    CHECK(first() == 1);
    const contents found = contents_of(log);
    CHECK(found.counts.written == 2);
    CHECK(found.counts.unfinished == 1);
    CHECK(found.counts.lost == 0);
    REQUIRE(found.lines.size() == 2);
    CHECK(found.lines[0].arrival_ns == 0);
    CHECK(found.lines[0].key == 7);
    CHECK(found.lines[1].key == 18'446'744'073'709'551'615U);
    CHECK(found.lines[0].block_ns + found.lines[1].block_ns == 0);
    static_cast<void>(never);
}

TEST_CASE("A request log counts what is beyond its capacity, and lets it run") {
    request_log log({.capacity = 3});
    int run = 0;
    for (int i = 0; i != 5; ++i) log.wrap(i, [&run] { ++run; })();
    const contents found = contents_of(log);
    CHECK(run == 5);
    CHECK(found.counts.written == 3);
    CHECK(found.counts.lost == 2);
    CHECK_THROWS_AS(request_log({.capacity = 0}), std::invalid_argument);
}

TEST_CASE("A request log takes the time of the call, and only that") {
    request_log log;
    auto request = log.wrap(1, [] { work_for(2'000'000); });
    work_for(1'000'000);
    const std::uint64_t before = clock_ns(CLOCK_MONOTONIC);
    request();
    const std::uint64_t around = clock_ns(CLOCK_MONOTONIC) - before;
    const contents found = contents_of(log);
    CHECK(found.lines.at(0).service_ns >= 2'000'000);
    CHECK(found.lines.at(0).service_ns <= around);
}

TEST_CASE(
    "A request log is written in the same way whatever the global locale and the format of the stream") {
    request_log log({.capacity = 2});
    for (const char* key : {"a", "b"}) log.wrap(std::string(key), [] {})();
    std::ostringstream usual;
    (void)log.write_csv(usual);
    CHECK(ekiden_test::written_in_foreign_format([&](std::ostream& to) { (void)log.write_csv(to); })
          == usual.str());
}

TEST_CASE("A request log tells waiting from work if it is asked to") {
    request_log log({.blocking = true});
    log.wrap(1, [] {
        work_for(1'000'000);
        std::this_thread::sleep_for(std::chrono::milliseconds(3)); // this time is measured
    })();
    log.wrap(2, [] { work_for(1'000'000); })();
    const contents found = contents_of(log);
    REQUIRE(found.lines.size() == 2);
    CHECK(found.lines[0].service_ns >= 1'000'000);
#if defined(__linux__)
    CHECK(found.lines[0].block_ns >= 2'900'000);
#endif
    CHECK(found.lines[1].service_ns >= 1'000'000);
}

TEST_CASE("A request log hashes keys alike with one salt, and otherwise with another") {
    const auto keys = [](std::uint64_t salt) {
        request_log log({.salt = {salt, 0}});
        log.wrap(1, [] {})();
        log.wrap(2U, [] {})();
        log.wrap("apples", [] {})();
        log.wrap(std::string("pears"), [] {})();
        log.wrap(1, [] {})();
        log.wrap(std::string_view("apples"), [] {})();
        std::vector<std::uint64_t> all;
        for (const line& l : contents_of(log).lines) all.push_back(l.key);
        return all;
    };
    const std::vector<std::uint64_t> once = keys(5);
    REQUIRE(once.size() == 6);
    CHECK(std::set(once.begin(), once.end()).size() == 4);
    CHECK(once[0] == once[4]);
    CHECK(once[2] == once[5]);
    CHECK(once[0] != 1);
    CHECK(keys(5) == once);
    CHECK(keys(6) != once);
    CHECK(keys(0) != keys(0));
}

TEST_CASE("The hash of a request log's keys is that of its publication") {
    // The example from "SipHash: a fast short-input PRF", appendix A: key 00 01 ... 0f, message 00 01 ... 0e.
    request_log log({.salt = {0x0706050403020100U, 0x0f0e0d0c0b0a0908U}});
    std::string message;
    for (char c = 0; c != 15; ++c) message += c;
    log.wrap(message, [] {})();
    CHECK(contents_of(log).lines.at(0).key == 0xa129ca6149be45e5U);
}

TEST_CASE("A wrapped function is a function like the one inside: results, arguments, exceptions, ownership") {
    request_log log;
    int here = 0;
    CHECK(&log.wrap(1, [&here]() -> int& { return here; })() == &here);
    auto adds = log.wrap(1, [sum = std::make_unique<int>(1)](int a, int&& b) { return *sum + a + b; });
    auto moved = std::move(adds);
    CHECK(moved(2, 3) == 6);
    CHECK_THROWS_AS(log.wrap(1, [] { throw std::runtime_error("x"); })(), std::runtime_error);
    const std::function<void()> copied = log.wrap(1, [&here] { ++here; });
    copied();
    CHECK(here == 1);
    CHECK(contents_of(log).counts.written == 4);
    auto plain = [] {};
    static_assert(sizeof(log.wrap(1, plain)) <= 2 * sizeof(void*));
    static_assert(!std::invocable<decltype(log.wrap(1, plain))&, int>);
}

TEST_CASE("Threads record into a request log at once, while it is written") {
    constexpr std::uint64_t threads = 4;
    constexpr std::uint64_t each = 5'000;
    request_log log({.capacity = threads * each - 10, .plain_numbers = true});
    std::array<std::uint64_t, threads> ran{};
    {
        std::vector<std::jthread> writers;
        for (std::uint64_t t = 0; t != threads; ++t)
            writers.emplace_back([&, t] {
                for (std::uint64_t i = 0; i != each; ++i) log.wrap(t, [&] { ++ran[t]; })();
            });
        for (int i = 0; i != 5; ++i) {
            std::uint64_t before = 0;
            for (const line& l : contents_of(log).lines) {
                CHECK(l.arrival_ns >= before);
                CHECK(l.key < threads);
                before = l.arrival_ns;
            }
        }
    }
    const contents found = contents_of(log);
    CHECK(found.counts.written == threads * each - 10);
    CHECK(found.counts.lost == 10);
    CHECK(ran == std::array{each, each, each, each});
}

TEST_CASE("Of several calls of a wrapped function the last one counts, its waiting too") {
    request_log log({.capacity = 1, .blocking = true, .plain_numbers = true});
    bool waits = false;
    auto call = log.wrap(1, [&waits] {
        if (waits) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    });
    call();
    waits = true;
    call();
    const contents found = contents_of(log);
    REQUIRE(found.lines.size() == 1);
    CHECK(found.lines[0].block_ns >= 4'000'000);
}

TEST_CASE("A wrapped function runs where the one inside is to run") {
    request_log log({.capacity = 1});
    ekiden::thread_pool pool({.threads = 1});
    const ekiden::strand home(pool.get_executor());
    bool is_home = false;
    ekiden::post(log.wrap(1, ekiden::bind_executor(home, [&] { is_home = home.running_in_this_thread(); })));
    pool.join();
    CHECK(is_home);
}

#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/random.hpp>

#include <tests/unit/child_process.hpp>
#include <tests/unit/posix.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

namespace sys = ekiden::sys;

TEST_CASE("A broken contract ends the process with its message") {
    const auto child = ekiden_test::run_in_child([] { sys::expects(1 + 1 == 3, "sums are right"); });
    CHECK(child.signal == SIGABRT);
    CHECK(child.error_output == "ekiden: sums are right\n");
}

TEST_CASE("A contract that holds costs nothing but the look") {
    const auto child = ekiden_test::run_in_child([] { sys::expects(true, "never seen"); });
    CHECK(child.exit_code == 0);
    CHECK(child.error_output.empty());
}

TEST_CASE("Calls around a fork happen before it in the parent and after it on both sides") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    static std::string steps;
    const auto child = ekiden_test::run_in_child([] {
        if (!sys::at_fork([] { steps += 'b'; }, [] { steps += 'p'; }, [] { steps += 'c'; })) std::exit(1);
        const pid_t grandchild = ::fork();
        if (grandchild == 0) std::_Exit(steps == "bc" ? 0 : 2);
        int status = 0;
        ::waitpid(grandchild, &status, 0);
        std::exit(status == 0 && steps == "bp" ? 0 : 3);
    });
    CHECK(child.exit_code == 0);
}

TEST_CASE("The clock in nanoseconds is the steady clock") {
    const auto before = sys::clock::now().time_since_epoch();
    const auto ns = std::chrono::nanoseconds(sys::now_ns());
    const auto after = sys::clock::now().time_since_epoch();
    CHECK(before <= ns);
    CHECK(ns <= after);
}

TEST_CASE("Equal seeds give equal sequences and other seeds give others") {
    sys::random first(42);
    sys::random second(42);
    sys::random other(43);
    int different = 0;
    for (int i = 0; i != 100; ++i) {
        const auto number = first.next();
        CHECK(number == second.next());
        different += number != other.next();
    }
    CHECK(different > 90);
}

TEST_CASE("Random numbers below a bound cover it evenly with any seed") {
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
        CAPTURE(seed);
        sys::random source(seed);
        std::array<int, 7> hits{};
        for (int i = 0; i != 70000; ++i) {
            const std::uint32_t number = source.below(7);
            REQUIRE(number < 7);
            ++hits[number];
        }
        for (const int count : hits) {
            CHECK(count > 9300); // 10000 +- 7 standard deviations
            CHECK(count < 10700);
        }
        CHECK(source.below(1) == 0);
    }
}

#include <ekiden/sys/thread.hpp>
#include <ekiden/sys/topology.hpp>

#include <tests/unit/posix.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#if defined(__APPLE__)
#include <ekiden/sys/macos/core_levels.hpp>
#endif
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace sys = ekiden::sys;
using cpus = std::vector<int>;

TEST_CASE("A list of processors is read in the notation of the system") {
    CHECK(sys::parse_cpu_list("0") == cpus{0});
    CHECK(sys::parse_cpu_list("0-3,8,10-11") == cpus{0, 1, 2, 3, 8, 10, 11});
    CHECK(sys::parse_cpu_list("5-5") == cpus{5});
    CHECK(sys::parse_cpu_list("0-1\n") == cpus{0, 1});
}

TEST_CASE("What cannot be read ends a list of processors") {
    CHECK(sys::parse_cpu_list({}).empty());
    CHECK(sys::parse_cpu_list("").empty());
    CHECK(sys::parse_cpu_list(" 1").empty());
    CHECK(sys::parse_cpu_list("-1").empty());
    CHECK(sys::parse_cpu_list("abc").empty());
    CHECK(sys::parse_cpu_list(",1").empty());
    CHECK(sys::parse_cpu_list("3-1").empty());
    CHECK(sys::parse_cpu_list("1-").empty());
    CHECK(sys::parse_cpu_list("1--2").empty());
    CHECK(sys::parse_cpu_list("1,") == cpus{1});
    CHECK(sys::parse_cpu_list("1,,2") == cpus{1});
    CHECK(sys::parse_cpu_list("1,x,2") == cpus{1});
    CHECK(sys::parse_cpu_list("1 2") == cpus{1});
    CHECK(sys::parse_cpu_list(std::string_view("1\0002", 3)) == cpus{1});
}

TEST_CASE("A list of processors with absurd numbers neither hangs nor fills the memory") {
    CHECK(sys::parse_cpu_list("0-2147483647").empty());
    CHECK(sys::parse_cpu_list("2147483647").empty());
    CHECK(sys::parse_cpu_list("2147483640-2147483647").empty());
    CHECK(sys::parse_cpu_list("7,99999999999999999999") == cpus{7});
    CHECK(sys::parse_cpu_list("0-65535").size() == 65536);
    CHECK(sys::parse_cpu_list("0-65536").empty());
}

TEST_CASE("The usable processors are those of the process, also for a thread that is bound to one") {
    EKIDEN_SKIP_ON_MACOS("a program cannot choose processors");
    const cpus all = sys::usable_cpus();
    REQUIRE(!all.empty());
    CHECK(std::is_sorted(all.begin(), all.end()));
    CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
    cpus seen;
    unsigned concurrency = 0;
    std::thread([&] {
        const cpus last{all.back()};
        if (!sys::set_thread_affinity(last)) return;
        seen = sys::usable_cpus();
        concurrency = sys::usable_concurrency();
    }).join();
    CHECK(seen == all);
    CHECK(concurrency == sys::usable_concurrency());
}

TEST_CASE("The usable concurrency is at least one and at most the number of usable processors") {
    CHECK(sys::usable_concurrency() >= 1);
    CHECK(sys::usable_concurrency() <= sys::usable_cpus().size());
}

TEST_CASE("The groups of NUMA nodes hold each usable processor once") {
    cpus together;
    for (const cpus& node : sys::numa_nodes()) {
        CHECK(!node.empty());
        together.insert(together.end(), node.begin(), node.end());
    }
    std::sort(together.begin(), together.end());
    CHECK(together == sys::usable_cpus());
}

TEST_CASE("Affinity is refused when the list names no processor of this machine") {
    std::thread([] {
        CHECK_FALSE(sys::set_thread_affinity({}));
        CHECK_FALSE(sys::set_thread_affinity(cpus{-1}));
        CHECK_FALSE(sys::set_thread_affinity(cpus{1 << 30}));
    }).join();
}

#if defined(__APPLE__)
TEST_CASE("The usable processors are those of all performance levels") {
    const cpus levels = sys::core_levels();
    CHECK(!levels.empty());
    CHECK(std::accumulate(levels.begin(), levels.end(), 0) == static_cast<int>(sys::usable_cpus().size()));
}
#endif

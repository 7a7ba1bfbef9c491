#include <lab/harness/affinity.hpp>

#include <atomic>
#include <doctest/doctest.h>
#include <thread>

TEST_CASE("binding all threads leaves each with one processor, in turn") {
    const std::vector<int> all = lab::usable_cpus();
    REQUIRE_FALSE(all.empty());
    std::thread([&] { // a thread of the test's own, whose mask may change
        std::atomic<bool> bound{false};
        std::atomic<bool> started{false};
        std::vector<int> others;
        std::thread other([&] {
            started = true;
            while (!bound) std::this_thread::yield();
            others = lab::usable_cpus();
        });
        while (!started) std::this_thread::yield();
        lab::bind_all_threads(all);
        CHECK(lab::usable_cpus() == std::vector<int>{all.front()});
        bound = true;
        other.join();
        CHECK(others.size() == 1);
        lab::bind_this_thread(all, static_cast<unsigned>(2 * all.size() - 1));
        CHECK(lab::usable_cpus() == std::vector<int>{all.back()});
    })
        .join();
}

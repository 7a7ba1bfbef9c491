#include <ekiden/observe/detail/counter.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

using ekiden::single_writer_counter;

TEST_CASE("A counter begins at zero or at its first value and adds") {
    single_writer_counter counter;
    CHECK(counter.value() == 0);
    counter.add();
    counter.add(41);
    CHECK(counter.value() == 42);
    CHECK(single_writer_counter(7).value() == 7);
}

TEST_CASE("A counter wraps around") {
    single_writer_counter counter(std::numeric_limits<std::uint64_t>::max() - 1);
    counter.add(3);
    CHECK(counter.value() == 1);
}

TEST_CASE("A thread that reads a counter sees what the owner did before it counted") {
    constexpr std::uint64_t rounds = 100'000;
    std::vector<std::uint64_t> written(rounds);
    single_writer_counter counter(std::numeric_limits<std::uint64_t>::max() - rounds / 2);
    const std::uint64_t start = counter.value();
    std::thread owner([&] {
        for (std::uint64_t i = 0; i != rounds; ++i) {
            written[i] = i + 1;
            counter.add();
        }
    });
    std::uint64_t before = 0;
    while (before != rounds) {
        const std::uint64_t count = counter.value() - start;
        REQUIRE(count >= before);
        if (count != 0) REQUIRE(written[count - 1] == count);
        before = count;
    }
    owner.join();
}

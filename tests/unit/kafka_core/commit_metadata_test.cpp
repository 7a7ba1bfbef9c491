// The metadata of a commit: it always fits, it is read back, and foreign text is refused.
#include <ekiden/kafka/detail/commit_metadata.hpp>
#include <ekiden/sys/random.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

using namespace ekiden::kafka::detail;

TEST_CASE("the metadata of each window fits, and says the same when it is read back") {
    ekiden::sys::random random(7);
    for (const std::size_t size : {1U, 2U, 7U, 8U, 9U, 64U, 1000U, 23'999U, 24'000U}) {
        for (const unsigned one_in : {1U, 2U, 1000U}) {
            done_offsets done{static_cast<std::int64_t>(random.next() >> 2), std::vector<bool>(size)};
            for (std::size_t i = 0; i != size; ++i) done.bits[i] = random.below(one_in) == 0;
            const std::string text = to_metadata(done);
            CHECK(text.size() <= most_metadata);
            const auto again = from_metadata(done.first, text);
            REQUIRE(again);
            bool is_equal = true;
            for (std::size_t i = 0; i != size + 10; ++i) {
                const std::int64_t offset = done.first + static_cast<std::int64_t>(i);
                is_equal = is_equal && again->has(offset) == done.has(offset);
            }
            CHECK(is_equal);
            CHECK(again->has(done.first - 1));
        }
    }
    CHECK(to_metadata({0, std::vector<bool>(24'000, true)}).size() == 4016);
}

TEST_CASE("the metadata is empty if nothing above the offset is done") {
    CHECK(to_metadata({5, {}}).empty());
    CHECK(to_metadata({5, std::vector<bool>(100)}).empty());
    REQUIRE(from_metadata(5, ""));
    CHECK_FALSE(from_metadata(5, "")->has(5));
    CHECK(from_metadata(5, "")->has(4));
    REQUIRE(from_metadata(-1, ""));
    CHECK_FALSE(from_metadata(-1, "")->has(0));
}

TEST_CASE("the format is fixed: another version of ekiden can read it") {
    CHECK(to_metadata({0x0102030405060708, {false, true, false, true}}) == "ZWsBAQIDBAUGBwgK");
}

TEST_CASE("foreign, newer, damaged and moved metadata is refused") {
    const std::string good = to_metadata({100, {false, true, true}});
    REQUIRE(from_metadata(100, good));
    CHECK_FALSE(from_metadata(101, good)); // a tool has copied it to another offset
    CHECK_FALSE(from_metadata(-1, good));
    for (std::size_t i = 0; i != good.size(); ++i) {
        CHECK_FALSE(from_metadata(100, good.substr(0, i == 0 ? 1 : i)));
        std::string other = good;
        other[i] = '*';
        CHECK_FALSE(from_metadata(100, other));
    }
    CHECK_FALSE(from_metadata(100, good + "AAAA=AAA"));
    CHECK_FALSE(from_metadata(100, good + "="));
    CHECK_FALSE(from_metadata(100, "hello"));
    CHECK_FALSE(from_metadata(100, "bUFzdAEC"));         // Parallel Consumer's form
    CHECK_FALSE(from_metadata(100, "ZWsCAAAAAAAAAGQC")); // version 2
    CHECK_FALSE(from_metadata(0, std::string(4096, 'A')));
}

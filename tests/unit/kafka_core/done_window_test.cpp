// The window of done offsets, compared with a set of offsets.
#include <ekiden/kafka/detail/done_window.hpp>
#include <ekiden/sys/random.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <vector>

using ekiden::kafka::detail::done_offsets;
using ekiden::kafka::detail::done_window;

TEST_CASE("the watermark is below the first offset that is not done, whatever the order of the ends") {
    ekiden::sys::random random(3);
    for (int round = 0; round != 200; ++round) {
        done_window window(1 + random.below(300));
        std::set<std::int64_t> open; // in work
        std::set<std::int64_t> done;
        const auto first = static_cast<std::int64_t>(random.below(100'000));
        std::int64_t next = first;
        for (int step = 0; step != 600; ++step) {
            if (random.below(20) == 0) next += random.below(8) == 0 ? 40'000 : 3; // a hole
            if (window.has_begun() && !window.has_room_for(next)) {
                REQUIRE(!open.empty());
            } else if (random.below(2) == 0) {
                REQUIRE(window.open(next));
                CHECK_FALSE(window.open(next)); // the same again
                open.insert(next++);
            }
            if (!open.empty() && random.below(2) == 0) {
                auto at = open.begin();
                std::advance(at, random.below(static_cast<unsigned>(open.size())));
                window.finish(*at);
                done.insert(*at);
                open.erase(at);
            }
            if (!window.has_begun()) continue;
            const std::int64_t expected = open.empty() ? window.end() : *open.begin();
            REQUIRE(window.watermark() == expected);
        }
        const done_offsets saved = window.done();
        CHECK(saved.first == window.watermark());
        for (const std::int64_t offset : done) CHECK(saved.has(offset));
        for (const std::int64_t offset : open) CHECK_FALSE(saved.has(offset));
    }
}

TEST_CASE("a window continues from a commit, and passes what was done before") {
    done_window window(10);
    window.restore({50, {false, true, true, false, true}});
    CHECK(window.watermark() == 50);
    CHECK(window.open(50));
    CHECK_FALSE(window.open(51));
    CHECK_FALSE(window.open(52));
    CHECK(window.done() == done_offsets{50, {false, true, true, false, true}});
    CHECK(window.open(53));
    CHECK_FALSE(window.open(54));
    window.finish(50);
    CHECK(window.watermark() == 53);
    window.finish(53);
    CHECK(window.watermark() == 55);
    CHECK(window.done().bits.empty());
}

TEST_CASE("a window continues from a commit whose first record is gone, and from a larger window") {
    done_window window(10);
    std::vector<bool> bits(24'000, true);
    bits[0] = bits[23'000] = false;
    window.restore({7, bits});
    window.pass_to(8); // the record was removed by compaction
    CHECK(window.watermark() == 7 + 23'000);
    CHECK(window.open(7 + 23'000));
    window.finish(7 + 23'000);
    CHECK(window.watermark() == 7 + 24'000);
}

TEST_CASE("a commit that says that its own offset is done is read as a later one") {
    done_window window(10);
    window.restore({7, {true, true, false, true}});
    CHECK(window.watermark() == 9);
    CHECK_FALSE(window.open(8));
    CHECK(window.open(9));
}

TEST_CASE("the watermark jumps over holes of any length when nothing is in work") {
    done_window window(100);
    window.pass_to(5);
    CHECK(window.watermark() == 5);
    window.pass_to(10'000'000'000);
    CHECK(window.watermark() == 10'000'000'000);
    CHECK(window.open(10'000'000'001));
    CHECK(window.watermark() == 10'000'000'001);
    CHECK(window.has_room_for(10'000'000'100));
    CHECK_FALSE(window.has_room_for(10'000'000'101));
    window.finish(10'000'000'001);
    CHECK(window.watermark() == 10'000'000'002);
}

#include <lab/peers/small_task.hpp>

#include <array>
#include <doctest/doctest.h>
#include <memory>

using lab::peers::small_task;

namespace {

template <std::size_t Bytes>
void check_lifetime() {
    const auto owner = std::make_shared<int>(0);
    {
        small_task first([owner, room = std::array<char, Bytes>{}] { *owner += 1 + room[0]; });
        CHECK(owner.use_count() == 2);
        small_task second(std::move(first));
        CHECK_FALSE(static_cast<bool>(first));
        second();
        small_task third;
        third = std::move(second);
        third();
        CHECK(owner.use_count() == 2);
        third = small_task();
        CHECK(owner.use_count() == 1);
    }
    CHECK(*owner == 2);
}

} // namespace

TEST_CASE("a small task in place is moved, called and destroyed once") { check_lifetime<16>(); }
TEST_CASE("a small task on the heap is moved, called and destroyed once") { check_lifetime<200>(); }

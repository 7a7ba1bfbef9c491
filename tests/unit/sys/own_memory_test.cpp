#include <ekiden/sys/own_memory.hpp>

#include <tests/unit/guarded_page.hpp>

#include <doctest/doctest.h>

#include <array>

using namespace ekiden;

TEST_CASE("only memory that this process can read is copied") {
    const std::array<int, 3> from{1, 2, 3};
    std::array<int, 3> to{};
    CHECK(sys::copy_if_readable(to.data(), from.data(), sizeof from));
    CHECK(to == from);
    CHECK_FALSE(sys::copy_if_readable(to.data(), nullptr, sizeof to));

    ekiden_test::guarded_page page;
    CHECK(sys::copy_if_readable(to.data(), page.end() - sizeof to, sizeof to));
    CHECK_FALSE(sys::copy_if_readable(to.data(), page.end() - 4, sizeof to));
    CHECK_FALSE(sys::copy_if_readable(to.data(), page.end(), 1));
    page.release();
    CHECK_FALSE(sys::copy_if_readable(to.data(), page.begin(), 1));
}

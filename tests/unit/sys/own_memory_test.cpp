#include <ekiden/sys/own_memory.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <sys/mman.h>
#include <unistd.h>

using namespace ekiden;

TEST_CASE("only memory that this process can read is copied") {
    const std::array<int, 3> from{1, 2, 3};
    std::array<int, 3> to{};
    CHECK(sys::copy_if_readable(to.data(), from.data(), sizeof from));
    CHECK(to == from);
    CHECK_FALSE(sys::copy_if_readable(to.data(), nullptr, sizeof to));

    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    auto* const two = static_cast<std::byte*>(
        ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(static_cast<void*>(two) != MAP_FAILED);
    REQUIRE(::mprotect(two + page, page, PROT_NONE) == 0);
    CHECK(sys::copy_if_readable(to.data(), two + page - sizeof to, sizeof to));
    CHECK_FALSE(sys::copy_if_readable(to.data(), two + page - 4, sizeof to));
    CHECK_FALSE(sys::copy_if_readable(to.data(), two + page, 1));
    REQUIRE(::munmap(two, 2 * page) == 0);
    CHECK_FALSE(sys::copy_if_readable(to.data(), two, 1));
}

// Spinning for a short time before a sleep.
#include "../failing_allocations.hpp"

#include <ekiden/sys/spin.hpp>

#include <doctest/doctest.h>

// The function asks the system for the processors. In its own process, as under ctest, this is the first
// call.
TEST_CASE("a thread without memory can look before it sleeps") {
    int looks = 0;
    bool has_found = false;
    {
        const ekiden_test::failing_allocation fault(0);
        has_found = ekiden::sys::spin_until([&] { return ++looks == 2; });
    }
    const bool may_find = ekiden::sys::usable_concurrency() > 1;
    CHECK((has_found || !may_find));
    CHECK(ekiden::sys::spinning_pays() == may_find);
}

#include <ekiden/queue/task.hpp>

#include <tests/unit/child_process.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>

#if defined(EKIDEN_ASAN)
namespace {

/// What the sanitizer says about a look at a task that has gone; its callable has so many bytes.
template <std::size_t Bytes>
std::string look_at_a_task_that_has_gone() {
    const auto child = ekiden_test::run_in_child([] {
        ekiden::task* const gone = ekiden::make_task([bytes = std::array<char, Bytes>{}] { (void)bytes; });
        gone->run();
        const volatile ekiden::task::function late = gone->type();
        (void)late;
    });
    return child.error_output;
}

} // namespace

TEST_CASE("AddressSanitizer reports the use of a task that has gone, of each size") {
    CHECK(look_at_a_task_that_has_gone<8>().find("use-after-poison") != std::string::npos);
    CHECK(look_at_a_task_that_has_gone<100>().find("use-after-poison") != std::string::npos);
    CHECK(look_at_a_task_that_has_gone<200>().find("use-after-poison") != std::string::npos);
    CHECK(look_at_a_task_that_has_gone<1000>().find("heap-use-after-free") != std::string::npos);
}

TEST_CASE("a node that has been freed can be used again as one of another size") {
    for (int round = 0; round != 50; ++round) {
        for (unsigned size_class = 0; size_class != 3; ++size_class) {
            std::array<void*, 200> nodes;
            for (void*& n : nodes) {
                n = ekiden::recycler::allocate(size_class);
                std::fill_n(static_cast<char*>(n), std::size_t{64} << size_class, char(round));
            }
            for (void* const n : nodes) ekiden::recycler::deallocate(n, size_class);
        }
    }
}
#endif

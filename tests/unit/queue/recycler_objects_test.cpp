#include <ekiden/queue/recycler.hpp>
#include <ekiden/queue/task.hpp>

#include <tests/unit/failing_allocations.hpp>
#include <tests/unit/fresh_process.hpp>
#include <tests/unit/posix.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

namespace recycler = ekiden::recycler;
using ekiden_test::failing_allocation;

namespace {

template <std::size_t Size, std::size_t Alignment>
struct alignas(Alignment) block {
    std::array<std::byte, Size> bytes;
};

template <class T>
void check_create() {
    const auto live = ekiden_test::live_allocation_count();
    std::array<T*, 20> made;
    for (T*& object : made) {
        object = recycler::create<T>();
        CHECK(reinterpret_cast<std::uintptr_t>(object) % alignof(T) == 0);
        object->bytes.fill(std::byte{0x5A});
    }
    for (T* object : made) recycler::destroy(object);
    if (!recycler::holds<T>) CHECK(ekiden_test::live_allocation_count() == live);
}

struct throws_when_made {
    throws_when_made() { throw std::runtime_error("made"); }
    std::array<std::byte, 100> bytes;
};

/// Makes, runs and drops tasks.
struct user_of_tasks {
    int* ran;
    ~user_of_tasks() {
        int* const count = ran;
        for (int i = 0; i != 100; ++i) {
            ekiden::make_task([count] { ++*count; })->run();
            ekiden::make_task([count, big = std::array<char, 200>()] { *count += 1 + big[0]; })->run();
            ekiden::make_task([] {})->abandon();
        }
    }
};

} // namespace

TEST_CASE("Objects of every size and alignment are created where they may lie") {
    static_assert(recycler::holds<block<256, 64>>);
    static_assert(!recycler::holds<block<257, 1>>);
    static_assert(!recycler::holds<block<128, 128>>);
    check_create<block<1, 1>>();
    check_create<block<64, 64>>();
    check_create<block<65, 8>>();
    check_create<block<256, 64>>();
    check_create<block<257, 1>>();
    check_create<block<5000, 16>>();
    check_create<block<128, 128>>();
    check_create<block<4096, 4096>>();
}

TEST_CASE("A constructor that throws leaves no memory behind") {
    const auto try_it = [] {
        CHECK_THROWS_AS((void)recycler::create<throws_when_made>(), std::runtime_error);
    };
    try_it();
    const std::size_t before = recycler::footprint();
    for (int i = 0; i != 10000; ++i) try_it();
    CHECK(recycler::footprint() == before);
}

#if !defined(EKIDEN_TSAN)
TEST_CASE("Whichever allocation fails the recycler loses nothing and works afterwards") {
    // Everything is kept until the end, so that each round has to take memory from the system.
    std::vector<void*> kept;
    int failures = 0;
    for (int n = 0; n != 8; ++n) {
        std::vector<void*> made;
        made.reserve(310000);
        std::thread([&] {
            bool happened = false;
            {
                const failing_allocation failing(n);
                try {
                    while (made.size() < 300000) made.push_back(recycler::allocate(0));
                } catch (const std::bad_alloc&) {
                    ++failures;
                }
                happened = failing.has_failed();
            }
            CHECK(happened);
            for (int i = 0; i != 5000; ++i) made.push_back(recycler::allocate(0));
        }).join();
        kept.insert(kept.end(), made.begin(), made.end());
    }
    CHECK(failures == 8);
    std::sort(kept.begin(), kept.end());
    CHECK(std::adjacent_find(kept.begin(), kept.end()) == kept.end());
    for (void* node : kept) recycler::deallocate(node, 0);
}
#endif

TEST_CASE("A thread that cannot have a heap of its own can free nodes") {
    for (int n = 0; n != 4; ++n) {
        std::vector<void*> made(1000);
        for (void*& node : made) node = recycler::allocate(0);
        std::size_t footprint = 0;
        std::thread([&] {
            const failing_allocation failing(n);
            for (void* node : made) recycler::deallocate(node, 0);
            footprint = recycler::footprint();
        }).join();
        for (void*& node : made) node = recycler::allocate(0);
        CHECK(recycler::footprint() == footprint);
        for (void* node : made) recycler::deallocate(node, 0);
    }
}

TEST_CASE("Destructors of thread_local objects may make and run tasks in a thread past its end") {
    static int ran;
    ran = 0;
    std::size_t after_first = 0;
    for (int round = 0; round != 50; ++round) {
        std::thread([] {
            static thread_local user_of_tasks before_the_heap{
                &ran}; // so it ends after the heap was given back
            (void)&before_the_heap;
            ekiden::make_task([] {})->run();
            static thread_local user_of_tasks after_the_heap{&ran};
            (void)&after_the_heap;
        }).join();
        if (round == 2) after_first = recycler::footprint();
    }
    CHECK(ran == 50 * 2 * 200);
    CHECK(recycler::footprint() == after_first);
}

TEST_CASE("A thread whose first tasks are made by a thread_local destructor works") {
    EKIDEN_SKIP_WITH_GCC_ON_WINDOWS("frees thread_local objects before it destroys them");
    static int ran;
    ran = 0;
    std::thread([] {
        static thread_local user_of_tasks only{&ran};
        (void)&only;
    }).join();
    CHECK(ran == 200);
}

TEST_CASE("A static object uses tasks in its destructor" * doctest::skip()) {
    static int ran;
    struct reporter {
        ~reporter() { std::fprintf(stderr, "ran %d\n", ran); }
    };
    static reporter last;
    static user_of_tasks user{&ran};
    (void)&last;
    (void)&user;
    ekiden::make_task([] {})->run();
}

TEST_CASE("Destructors of static objects may make and run tasks") {
    const auto child =
        ekiden_test::run_test_case_in_fresh_process("A static object uses tasks in its destructor");
    CAPTURE(child.error_output);
    CHECK(child.exit_code == 0);
    CHECK(child.error_output.find("ran 200\n") != std::string::npos);
}

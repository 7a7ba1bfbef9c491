// The table of sleepers that replaces futexes on systems without them. This program contains the table.
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/parker.hpp>

#include <tests/unit/asleep.hpp>
#include <tests/unit/child_process.hpp>
#include <tests/unit/effort.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace sys = ekiden::sys;
using namespace std::chrono_literals;
using futex_word = sys::atomic<std::uint32_t>;

namespace {

constexpr std::size_t buckets = 256;

/// Two words of the same bucket.
struct neighbors {
    std::array<futex_word, buckets + 1> all{};
    futex_word& first() { return all.front(); }
    futex_word& second() { return all.back(); }
};

void wait_while_zero(const futex_word& here) {
    while (here.load(sys::acquire) == 0) sys::futex_wait(here, 0);
}

/// A page whose first reader waits until the test goes on. The reader waits in the handler of the fault.
struct locked_page {
    locked_page() {
        address = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        struct sigaction action{};
        action.sa_handler = [](int) {
            is_read = true;
            while (!is_over) (void)::usleep(100);
            (void)::mprotect(address, size, PROT_READ);
        };
        (void)::sigaction(SIGSEGV, &action, &before);
    }
    ~locked_page() {
        (void)::sigaction(SIGSEGV, &before, nullptr);
        (void)::munmap(address, size);
    }
    locked_page(const locked_page&) = delete;
    locked_page& operator=(const locked_page&) = delete;

    static constexpr std::size_t size = 4096;
    static inline void* address = nullptr;
    static inline std::atomic<bool> is_read{false};
    static inline std::atomic<bool> is_over{false};
    struct sigaction before{};
};

} // namespace

TEST_CASE("The table does not tell how many threads it wakes, so this program uses the table") {
    futex_word here{0};
    std::thread sleeper = ekiden_test::start_asleep([&] { wait_while_zero(here); });
    here.store(1, sys::release);
    CHECK(sys::futex_wake(here) == 0);
    sleeper.join();
}

TEST_CASE("A wake-up reaches its sleeper although a thread sleeps on another word of the bucket") {
    neighbors words;
    std::thread other = ekiden_test::start_asleep([&] { wait_while_zero(words.first()); });
    std::thread meant = ekiden_test::start_asleep([&] { wait_while_zero(words.second()); });
    words.second().store(1, sys::release);
    sys::futex_wake(words.second());
    meant.join();
    words.first().store(1, sys::release);
    sys::futex_wake(words.first());
    other.join();
}

TEST_CASE("A wait keeps its deadline although other words of the bucket are woken all the time") {
    neighbors words;
    std::atomic<bool> is_over{false};
    std::thread waker([&] {
        while (!is_over) sys::futex_wake_all(words.second());
    });
    const auto deadline = sys::clock::now() + 20ms;
    while (sys::futex_wait_until(words.first(), 0, deadline)) {
    }
    CHECK(sys::clock::now() >= deadline);
    is_over = true;
    waker.join();
}

TEST_CASE("No wake-up is lost when threads of one bucket hand a token around") {
    constexpr std::size_t threads = 6;
    struct place {
        sys::parker parker;
        std::array<std::byte, buckets * sizeof(futex_word) - sizeof(sys::parker)> rest;
    };
    static_assert(sizeof(place) == buckets * sizeof(futex_word));
    std::vector<place> places(threads);
    const int rounds = ekiden_test::rounds(500);
    std::vector<std::thread> all;
    for (std::size_t i = 0; i != threads; ++i) {
        all.emplace_back([&, i] {
            for (int round = 0; round != rounds; ++round) {
                if (round % 2 == 0)
                    places[i].parker.park();
                else
                    while (!places[i].parker.park_until(sys::clock::now() + 10s)) {
                    }
                places[(i + 1) % threads].parker.unpark();
            }
        });
    }
    places.front().parker.unpark();
    for (std::thread& thread : all) thread.join();
    CHECK(places.front().parker.has_token());
}

TEST_CASE("The child of a fork can sleep and wake although a thread of the parent holds the lock") {
    const locked_page page;
    const auto& here = *static_cast<futex_word*>(locked_page::address);
    std::thread holder([&] { sys::futex_wait(here, 1); }); // reads the word under the lock
    while (!locked_page::is_read) std::this_thread::yield();
    const auto child = ekiden_test::run_in_child([&] {
        sys::futex_wake(here);
        futex_word other{0};
        (void)sys::futex_wait_until(other, 0, sys::clock::now() + 1us);
        std::_Exit(0);
    });
    CHECK(child.exit_code == 0);
    locked_page::is_over = true;
    holder.join();
}

// Beside busy processes a yield takes a time slice. Here every yield of the process does, on request: this
// file replaces the system's function.
#include <ekiden/sync/barrier.hpp>
#include <ekiden/sync/bounded_buffer.hpp>
#include <ekiden/sync/counting_semaphore.hpp>
#include <ekiden/sync/spin_mutex.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace {

constexpr std::chrono::milliseconds slice(3);

// Static, as the function may be called before and after everything else.
constinit std::atomic<bool> is_slow{false};
constinit std::atomic<int> slow_yields{0};

/// How often two threads that each run `turn(me)` many times yield while yields are slow.
template <class Turn>
int yields_of(Turn turn) {
    constexpr int turns = 100;
    slow_yields = 0;
    is_slow = true;
    const auto run = [&](int me) {
        for (int i = 0; i != turns; ++i) turn(me);
    };
    std::thread other([&] { run(1); });
    run(0);
    other.join();
    is_slow = false;
    return slow_yields;
}

// Each turn waits, and a thread that yields in each wait yields 100 times and more.
constexpr int few = 20;

} // namespace

extern "C" int sched_yield() noexcept {
    if (is_slow.load(std::memory_order_relaxed)) {
        slow_yields.fetch_add(1, std::memory_order_relaxed);
        std::this_thread::sleep_for(slice);
    }
    return static_cast<int>(syscall(SYS_sched_yield));
}

TEST_CASE("threads that pass items through a buffer stop yielding when yields are slow") {
    ekiden::bounded_buffer<int> there(1);
    ekiden::bounded_buffer<int> back(4);
    CHECK(yields_of([&](int me) {
              if (me == 0) {
                  (void)there.push(1);
                  (void)back.pop();
              } else {
                  (void)there.pop();
                  std::this_thread::sleep_for(std::chrono::microseconds(200)); // the other side waits
                  (void)back.push(1);
              }
          })
          <= few);
}

TEST_CASE("threads that meet at a barrier stop yielding when yields are slow") {
    ekiden::barrier<> all(2);
    CHECK(yields_of([&](int me) {
              if (me == 1) std::this_thread::sleep_for(std::chrono::microseconds(200));
              all.arrive_and_wait();
          })
          <= few);
}

TEST_CASE("threads that answer each other by semaphores stop yielding when yields are slow") {
    ekiden::binary_semaphore question(0);
    ekiden::binary_semaphore reply(0);
    CHECK(yields_of([&](int me) {
              if (me == 0) {
                  question.release();
                  reply.acquire();
              } else {
                  question.acquire();
                  std::this_thread::sleep_for(std::chrono::microseconds(200));
                  reply.release();
              }
          })
          <= few);
}

TEST_CASE("a thread that waits for a spin_mutex stops yielding when yields are slow") {
    ekiden::spin_mutex m;
    m.lock();
    slow_yields = 0;
    std::atomic<bool> has_begun{false};
    is_slow = true;
    std::thread waiting([&] {
        has_begun = true;
        m.lock();
        m.unlock();
    });
    while (!has_begun) std::this_thread::sleep_for(std::chrono::microseconds(100));
    std::this_thread::sleep_for(40 * slice);
    m.unlock();
    waiting.join();
    is_slow = false;
    CHECK(slow_yields <= few);
}

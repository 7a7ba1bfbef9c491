// Waits that are nested deeper than the stack of a worker.
#include <ekiden/fork/fork_join.hpp>
#include <ekiden/future/promise.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#if defined(__GLIBC__)
#include <pthread.h>

namespace {

constexpr std::size_t small = std::size_t{512} << 10U;

/// While this object exists, new threads have small stacks.
class small_stacks {
public:
    small_stacks() {
        (void)pthread_getattr_default_np(&before_);
        pthread_attr_t attributes;
        (void)pthread_attr_init(&attributes);
        (void)pthread_attr_setstacksize(&attributes, small);
        REQUIRE(pthread_setattr_default_np(&attributes) == 0);
        (void)pthread_attr_destroy(&attributes);
    }
    ~small_stacks() {
        (void)pthread_setattr_default_np(&before_);
        (void)pthread_attr_destroy(&before_);
    }
    small_stacks(const small_stacks&) = delete;
    small_stacks& operator=(const small_stacks&) = delete;

private:
    pthread_attr_t before_{};
};

/// Each call waits for the next call, which is a task of the pool.
int chain(ekiden::thread_pool& pool, int n) {
    return n == 0 ? 0 : 1 + pool.submit([&pool, n] { return chain(pool, n - 1); }).get();
}

/// Returns how deep the stack of the only worker is when the pool reports that it is too deep.
ekiden::stall_report stall_of_endless_chain(unsigned threads) {
    std::promise<ekiden::stall_report> told;
    std::once_flag once; // the pool may report a stall again
    ekiden::thread_pool pool({.threads = threads, .on_stall = [&](const ekiden::stall_report& r) {
                                  if (r.why != ekiden::stall_report::reason::too_deep) return;
                                  std::call_once(once, [&] { told.set_value(r); });
                              }});
    auto all = pool.submit([&] { return chain(pool, 1'000'000); });
    ekiden::stall_report report = told.get_future().get();
    pool.stop(); // ends the waits, although no worker runs tasks
    CHECK_THROWS_AS(all.get(), std::system_error);
    return report;
}

} // namespace

TEST_CASE("waits that are nested too deep for every worker are reported, and end with stop()") {
    const small_stacks here;
    for (const unsigned threads : {1U, 2U}) {
        const ekiden::stall_report report = stall_of_endless_chain(threads);
        CHECK(report.why == ekiden::stall_report::reason::too_deep);
        REQUIRE(report.threads.size() == threads);
        for (const auto& thread : report.threads) {
            CHECK(thread.nested_waits > 10);
            CHECK(report.text().find(std::to_string(thread.nested_waits) + " waits on its stack")
                  != std::string::npos);
        }
        CHECK(report.tasks_pending > 20);
    }
}

TEST_CASE("a worker whose stack is deep leaves the tasks to another worker") {
    const small_stacks here;
    const auto one_stack = static_cast<int>(stall_of_endless_chain(1).threads[0].nested_waits);
    const int deep = one_stack + one_stack / 2;
    ekiden::thread_pool two({.threads = 2});
    CHECK(two.submit([&] { return chain(two, deep); }).get() == deep);
    // The stacks are free again, so the pool can do it once more.
    CHECK(two.submit([&] { return chain(two, deep); }).get() == deep);
    ekiden::thread_pool elastic({.threads = 1, .max_threads = 3});
    CHECK(elastic.submit([&] { return chain(elastic, deep); }).get() == deep);
    CHECK(elastic.metrics().peak_threads >= 2);
}

TEST_CASE("a worker whose reserve is its whole stack runs no tasks in a wait") {
    ekiden::thread_pool pool({.threads = 2, .stack_reserve = ~std::size_t{0}});
    const auto waiting_thread_helps = [&] {
        const auto mine = std::this_thread::get_id();
        return pool.submit([mine] { return std::this_thread::get_id() == mine; }).get();
    };
    for (int i = 0; i != 20; ++i) CHECK_FALSE(pool.submit(waiting_thread_helps).get());
}

TEST_CASE("a pool continues when the result of a deep wait comes from outside") {
    ekiden::thread_pool pool({.threads = 1, .stack_reserve = ~std::size_t{0}});
    ekiden::promise<int> promise;
    auto waiter = pool.submit([f = promise.get_future()]() mutable { return f.get(); });
    auto next = pool.submit([] { return 2; });
    promise.set_value(1);
    CHECK(waiter.get() == 1);
    CHECK(next.get() == 2);
}

TEST_CASE("a stopped pool abandons tasks of every queue while its only worker waits deep in its stack") {
    std::promise<void> told;
    std::once_flag once;
    ekiden::thread_pool pool(
        {.threads = 1, .stack_reserve = ~std::size_t{0}, .on_stall = [&](const ekiden::stall_report&) {
             std::call_once(once, [&] { told.set_value(); });
         }});
    ekiden::future<void> high;
    ekiden::future<void> low;
    auto outer = pool.submit([&] {
        high = pool.submit(ekiden::priority::high, [] {});
        low = pool.submit(ekiden::priority::low, [] {});
        pool.submit([] {}).get();
    });
    told.get_future().wait();
    pool.stop();
    CHECK_THROWS_AS(outer.get(), std::system_error);
    CHECK_THROWS_AS(high.get(), std::system_error);
    CHECK_THROWS_AS(low.get(), std::system_error);
    pool.join();
}

namespace {

/// Calls `f` near the end of the stack of this thread.
void call_deep(const std::byte* top, std::size_t wanted, const std::function<void()>& f) {
    volatile std::byte room[4096];
    room[0] = std::byte{1};
    // Not the address of `room`, which AddressSanitizer may place elsewhere.
    const auto* const here = static_cast<const std::byte*>(__builtin_frame_address(0));
    if (static_cast<std::size_t>(top - here) < wanted)
        call_deep(top, wanted, f);
    else
        f();
    room[1] = room[0];
}

/// A thread forks a call that a worker steals, and waits for it. Inside, the worker forks a call that the
/// thread can steal. Returns whether the thread has stolen it within `patience`.
bool waiting_thread_helps(ekiden::thread_pool& pool, std::chrono::milliseconds patience) {
    const auto mine = std::this_thread::get_id();
    std::atomic<bool> is_stolen{false};
    std::atomic<bool> has_helped{false};
    const auto first = [&] {
        while (!is_stolen) std::this_thread::yield();
    };
    const auto inner = [&] {
        if (std::this_thread::get_id() == mine) has_helped = true;
    };
    const auto waits_for_help = [&] {
        const auto end = std::chrono::steady_clock::now() + patience;
        while (!has_helped && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    };
    const auto second = [&](ekiden::fork_scope& scope) {
        is_stolen = true;
        ekiden::parallel_invoke(scope, waits_for_help, inner);
    };
    ekiden::parallel_invoke(pool, first, second);
    return has_helped;
}

} // namespace

TEST_CASE("a thread outside of the pool whose stack is deep runs no stolen calls") {
    const small_stacks here;
    ekiden::thread_pool pool({.threads = 1});
    bool helps = false;
    bool helps_deep = true;
    std::thread guest([&] {
        const auto* const top = static_cast<const std::byte*>(__builtin_frame_address(0));
        helps = waiting_thread_helps(pool, std::chrono::seconds(60));
        call_deep(top, small - small / 10,
                  [&] { helps_deep = waiting_thread_helps(pool, std::chrono::milliseconds(20)); });
    });
    guest.join();
    CHECK(helps);
    CHECK_FALSE(helps_deep);
}
#endif

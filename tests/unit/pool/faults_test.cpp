// What happens when the system, the program or the task misbehaves.
#include "../child_process.hpp"
#include "../failing_allocations.hpp"
#include "../failing_threads.hpp"
#include <tests/unit/posix.hpp>

#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/spin.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <latch>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using ekiden::blocking;
using ekiden::thread_pool;
using ekiden_test::allocation_count;
using ekiden_test::count_threads;
using ekiden_test::failing_allocation;
using ekiden_test::run_in_child;
using ekiden_test::threads_until_failure;

TEST_CASE("a thread count above the limit is refused before anything is started") {
    const int before = count_threads(1);
    CHECK_THROWS_WITH_AS(thread_pool({.threads = 4097}),
                         "thread_pool: threads is 4097, allowed is 0 (one per usable processor) to 4096",
                         std::invalid_argument);
    CHECK_THROWS_AS(thread_pool({.threads = 4'000'000'000U}), std::invalid_argument);
    CHECK(count_threads(before) == before);
}

TEST_CASE("when the system refuses the n-th thread, the started ones end and the constructor throws") {
    const int before = count_threads(1);
    for (const int n : {0, 1, 3}) {
        threads_until_failure = n;
        CHECK_THROWS_AS(thread_pool({.threads = 4}), std::system_error);
        threads_until_failure = -1;
        CHECK(count_threads(before) == before);
    }
    thread_pool pool({.threads = 4});
    CHECK(pool.submit([] { return 1; }).get() == 1);
}

TEST_CASE("a thread that cannot be started is named in the message, with the system's reason") {
    const auto message = [](int before_it, const ekiden::thread_pool_options& options) -> std::string {
        threads_until_failure = before_it;
        std::string what;
        try {
            thread_pool pool(options);
        } catch (const std::system_error& error) {
            CHECK(error.code() == std::errc::resource_unavailable_try_again);
            what = error.what();
        }
        threads_until_failure = -1;
        return what;
    };
    const std::string reason = std::make_error_code(std::errc::resource_unavailable_try_again).message();
    CHECK(message(1, {.threads = 2}) == "ekiden: thread_pool: cannot start a worker: " + reason);
    CHECK(message(0, {.threads = 1, .max_threads = 2})
          == "ekiden: thread_pool: cannot start its watch: " + reason);
}

#if !defined(EKIDEN_TSAN)
TEST_CASE("when an allocation fails, the constructor throws and nothing is left") {
    const int before = count_threads(1);
    bool has_failed = true;
    for (long n = 0; has_failed; ++n) {
        {
            failing_allocation fault(n);
            try {
                thread_pool pool({.threads = 2});
            } catch (const std::bad_alloc&) {
            }
            has_failed = fault.has_failed();
        }
        REQUIRE(count_threads(before) == before);
    }
}

TEST_CASE("when an allocation fails in post or submit, the task is not queued and nothing is lost") {
    thread_pool pool({.threads = 1});
    std::latch go(1);
    pool.post([&] { go.wait(); });
    long accepted = 0;
    long failed = 0;
    std::atomic<long> ran{0};
    const std::array<char, 1000> large{};
    for (long i = 0; i != 3000; ++i) {
        failing_allocation fault(i % 3);
        try {
            if (i % 2 == 0)
                pool.post([&ran, large] { ran += 1 + large[0]; });
            else
                (void)pool.submit([&ran, large] { ran += 1 + large[0]; });
            ++accepted;
        } catch (const std::bad_alloc&) {
            ++failed;
        }
    }
    CHECK(failed > 0);
    CHECK(accepted > 0);
    go.count_down();
    pool.wait_idle();
    CHECK(ran == accepted);
}

TEST_CASE("a bulk that runs out of memory half-way still makes every call") {
    (void)ekiden::sys::spinning_pays(); // which a worker that looks for work would ask for the first time,
                                        // with an allocation
    thread_pool pool({.threads = 2});
    static thread_local std::optional<failing_allocation> fault; // of a worker
    const auto on_both = [&pool](auto f) {
        std::latch both(2);
        const auto task = [&both, f] {
            both.arrive_and_wait();
            f();
        };
        auto first = pool.submit(task);
        pool.submit(task).get(blocking);
        first.get(blocking);
    };
    on_both([] { fault.emplace(0); });
    std::atomic<int> calls{0};
    // The first call waits for another one. So the other worker takes the task, and cannot split it.
    pool.post_bulk(100, [&calls, fill = std::array<char, 500>{}](std::size_t i) {
        while (i == 0 && calls == 0) std::this_thread::yield();
        calls += 1 + fill[0];
    });
    pool.wait_idle();
    std::atomic<int> failed{0};
    on_both([&failed] {
        failed += fault->has_failed() ? 1 : 0;
        fault.reset();
    });
    CHECK(failed > 0);
    CHECK(calls == 100);
}

TEST_CASE("steady state needs no allocation") {
    thread_pool pool({.threads = 1});
    std::atomic<long> sum{0};
    const auto work = [&](bool is_held_up) {
        if (is_held_up) pool.pause();
        for (int i = 0; i != 2000; ++i) pool.post([&] { ++sum; });
        pool.resume();
        for (int i = 0; i != 200; ++i) sum += pool.submit([] { return 1; }).get();
        pool.wait_idle();
    };
    for (int i = 0; i != 5; ++i) work(true); // all of them are queued at once, as may happen later
    const long before = allocation_count();
    work(false);
    CHECK(allocation_count() == before);
}
#endif

TEST_CASE("an empty callable is refused, and the message says what is allowed") {
    thread_pool pool({.threads = 1});
    CHECK_THROWS_WITH_AS(pool.post(std::function<void()>()),
                         "post: the callable is empty, allowed is one that can be called",
                         std::invalid_argument);
    CHECK_THROWS_AS(pool.post(static_cast<void (*)()>(nullptr)), std::invalid_argument);
    CHECK_THROWS_WITH_AS((void)pool.submit(std::function<int()>()),
                         "submit: the callable is empty, allowed is one that can be called",
                         std::invalid_argument);
    CHECK_THROWS_AS((void)pool.submit(std::stop_token(), std::function<int()>()), std::invalid_argument);
    CHECK_THROWS_AS(pool.post_bulk(3, std::function<void(std::size_t)>()), std::invalid_argument);
    CHECK(pool.submit([] { return 1; }).get() == 1);
}

TEST_CASE("without a handler, an exception of a posted task ends the program and names the task") {
    struct unlucky_task {
        void operator()() const { throw std::runtime_error("the reason"); }
    };
    const auto child = run_in_child([] {
        thread_pool pool({.threads = 1});
        pool.post(unlucky_task{});
        pool.wait_idle();
    });
    CHECK(child.signal == SIGABRT);
    CHECK(child.error_output.find("unlucky_task") != std::string::npos);
    CHECK(child.error_output.find("the reason") != std::string::npos);
}

TEST_CASE("a throwing destructor of a capture ends the program") {
    struct thrower {
        bool armed = true;
        thrower() = default;
        thrower(thrower&& other) noexcept : armed(std::exchange(other.armed, false)) {}
        ~thrower() noexcept(false) {
            if (armed) throw std::runtime_error("from a destructor");
        }
    };
    const auto child = run_in_child([] {
        thread_pool pool({.threads = 1});
        pool.submit([t = thrower{}] {}).wait();
    });
    CHECK(child.signal == SIGABRT);
}

TEST_CASE("in the child of a fork, posting is an error and the destructor does nothing") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    if (!ekiden_test::can_child_start_threads()) return;
    auto* const pool = new thread_pool({.threads = 2});
    pool->submit([] {}).get();
    const auto child = run_in_child([&] {
        int errors = 0;
        const auto expect = [&](auto&& call) {
            try {
                call();
            } catch (const std::system_error& e) {
                if (e.code() == std::errc::operation_not_permitted) ++errors;
            }
        };
        expect([&] { pool->post([] {}); });
        expect([&] { (void)pool->submit([] {}); });
        expect([&] { pool->wait_idle(); });
        expect([&] { pool->join(); });
        delete pool;
#if !defined(EKIDEN_TSAN) // which does not support threads in the child
        thread_pool fresh({.threads = 1});
        if (fresh.submit([] { return 3; }).get() != 3) std::_Exit(9);
#endif
        std::_Exit(errors == 4 ? 0 : 1);
    });
    CHECK(child.exit_code == 0);
    CHECK(pool->submit([] { return 2; }).get() == 2);
    delete pool;
}

TEST_CASE("a static pool ends cleanly at exit, with work still queued by static destructors") {
    const auto child = run_in_child([] {
        static std::atomic<int> ran{0};
        struct check_at_exit {
            ~check_at_exit() {
                if (ran != 102) std::_Exit(7);
            }
        };
        static check_at_exit check;
        static thread_pool pool({.threads = 2});
        struct last_words {
            ~last_words() {
                pool.post([] { ++ran; });
            }
        };
        static last_words words;
        static thread_local struct thread_end {
            int used = 0;
            ~thread_end() {
                pool.post([] { ++ran; });
            }
        } end;
        end.used = 1;
        for (int i = 0; i != 100; ++i) pool.post([] { ++ran; });
        std::exit(0);
    });
    CHECK(child.exit_code == 0);
}

TEST_CASE("signals and spurious wake-ups change nothing") {
    EKIDEN_SKIP_ON_WINDOWS("there are no signals");
    struct sigaction action{};
    struct sigaction before{};
    action.sa_handler = [](int) {};
    sigaction(SIGUSR1, &action, &before); // without SA_RESTART: system calls return EINTR
    {
        thread_pool pool({.threads = 2});
        std::vector<pthread_t> workers(2);
        std::latch both(2);
        pool.post_bulk(2, [&](std::size_t i) {
            workers[i] = pthread_self();
            both.arrive_and_wait();
        });
        pool.wait_idle();
        std::atomic<bool> done{false};
        const pthread_t main_thread = pthread_self();
        std::jthread storm([&] {
            while (!done) {
                for (const pthread_t w : workers) pthread_kill(w, SIGUSR1);
                pthread_kill(main_thread, SIGUSR1);
                std::this_thread::yield();
            }
        });
        std::atomic<int> ran{0};
        for (int i = 0; i != 2000; ++i) {
            pool.post([&] { ++ran; });
            // Long enough for the workers to sleep. (sleep_for would start again at each signal.)
            const auto rested = std::chrono::steady_clock::now() + (i % 50 == 0 ? 50us : 0us);
            while (std::chrono::steady_clock::now() < rested) {
            }
            REQUIRE(pool.submit([i] { return i; }).get() == i);
        }
        pool.wait_idle();
        done = true;
        storm.join();
        CHECK(ran == 2000);
    }
    sigaction(SIGUSR1, &before, nullptr);
}

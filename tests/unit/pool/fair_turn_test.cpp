// Fair turns: what the order of find_task() could pass over for ever comes to its turn, and nothing else.
#include <ekiden/future/future.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <latch>
#include <memory>
#include <thread>
#include <utility>

using ekiden::thread_pool;

TEST_CASE("What a worker has left that runs a long task is taken by one that always has work of its own") {
    thread_pool pool({.threads = 2});
    std::atomic<bool> is_taken{false};
    std::atomic<bool> enough{false};
    std::latch both(2);
    std::function<void()> endless = [&] {
        if (!enough) pool.post(endless);
    };
    pool.post([&] {
        both.arrive_and_wait(); // the other worker runs the other task
        endless();
    });
    pool.post([&] {
        both.arrive_and_wait();
        pool.post([&] { is_taken = true; });
        while (!is_taken) std::this_thread::yield(); // a long task
        enough = true;
    });
    pool.wait_idle();
    CHECK(is_taken);
}

TEST_CASE("What a worker has left whose tasks are long is taken by one whose tasks are short") {
    for (int round = 0; round != 10; ++round) { // at first it may be the long ones' own fair turn
        thread_pool pool({.threads = 2});
        std::atomic<bool> is_taken{false};
        std::atomic<int> short_ones{0};
        std::atomic<int> long_ones{0};
        std::latch both(2);
        std::function<void()> each_short = [&] {
            ++short_ones;
            if (!is_taken) pool.post(each_short);
        };
        std::function<void()> each_long = [&] {
            // A theft comes after at most 64 * 64 searches of the other worker, so after at most 16 long
            // tasks. This worker's own fair turn comes after 256 long tasks.
            const int end = short_ones + 256;
            while (short_ones < end && !is_taken) std::this_thread::yield();
            if (is_taken) return;
            if (++long_ones == 20) pool.post([&] { is_taken = true; }); // when both have long been seen
            pool.post(each_long);
        };
        pool.post([&] {
            both.arrive_and_wait();
            each_short();
        });
        pool.post([&] {
            both.arrive_and_wait();
            each_long();
        });
        pool.wait_idle();
        CHECK(long_ones < 20 + 64);
    }
}

TEST_CASE("A worker's oldest task begins although its newer tasks never end") {
    thread_pool pool({.threads = 1});
    std::atomic<bool> has_begun{false};
    int newer = 0; // by the only worker
    std::function<void()> chain = [&] {
        ++newer;
        if (!has_begun) pool.post(chain);
    };
    pool.post([&] {
        pool.post([&] { has_begun = true; });
        pool.post(chain);
    });
    pool.wait_idle();
    CHECK(newer <= 4 * 64);
}

TEST_CASE("Each worker that blocks gives its tasks away to one that always has tasks of its own") {
    constexpr unsigned blocked = 3;
    thread_pool pool({.threads = blocked + 1});
    std::latch all(blocked + 1);
    std::atomic<unsigned> taken{0};
    int own = 0; // by the only worker that is not blocked
    std::function<void()> chain = [&] {
        ++own;
        if (taken != blocked) pool.post(chain);
    };
    for (unsigned i = 0; i != blocked; ++i) {
        pool.post([&] {
            pool.post([&] { ++taken; });
            all.arrive_and_wait();
            while (taken != blocked) std::this_thread::yield();
        });
    }
    pool.post([&] {
        all.arrive_and_wait();
        chain();
    });
    pool.wait_idle();
    CHECK(taken == blocked);
    CHECK(own <= 64 * 64 * static_cast<int>(blocked + 1));
}

TEST_CASE("An idle worker soon takes the only task of a worker that runs a long task") {
    thread_pool pool({.threads = 2});
    for (int round = 0; round != 100; ++round) {
        std::atomic<bool> is_taken{false};
        pool.post([&] {
            pool.post([&] { is_taken = true; });
            while (!is_taken) std::this_thread::yield(); // a long task
        });
        pool.wait_idle();
        CHECK(is_taken);
    }
}

TEST_CASE("An idle worker takes the only tasks of several workers that run long tasks") {
    thread_pool pool({.threads = 4});
    for (int round = 0; round != 100; ++round) {
        std::latch all(3);
        std::atomic<int> taken{0};
        for (int i = 0; i != 3; ++i) {
            pool.post([&] {
                all.arrive_and_wait();
                pool.post([&] { ++taken; });
                while (taken != 3) std::this_thread::yield(); // a long task
            });
        }
        pool.wait_idle();
        CHECK(taken == 3);
    }
}

TEST_CASE("An idle worker takes the only task of a worker whose tasks were short until then") {
    for (int round = 0; round != 100; ++round) {
        thread_pool pool({.threads = 2});
        std::atomic<bool> is_taken{false};
        int left = 2000;
        std::function<void()> each_short = [&] {
            if (--left != 0) {
                pool.post(each_short);
                return;
            }
            pool.post([&] { is_taken = true; });
            while (!is_taken) std::this_thread::yield(); // a long task
        };
        pool.post(each_short);
        pool.wait_idle();
        CHECK(is_taken);
    }
}

TEST_CASE("A pool ends while its tasks are short") {
    for (int round = 0; round != 300; ++round) {
        thread_pool pool({.threads = 2});
        std::atomic<int> left{2000};
        std::function<void()> each_short = [&] {
            if (--left != 0) pool.post(each_short);
        };
        pool.post(each_short);
        while (left > 500) std::this_thread::yield(); // the idle worker leaves the tasks to the other one
        pool.join();
        CHECK(left == 0);
    }
}

TEST_CASE("A worker that waits for a result takes the only task of a worker that runs a long task") {
    thread_pool pool({.threads = 2});
    for (int round = 0; round != 100; ++round) {
        std::latch both(2);
        std::latch is_posted(1);
        std::atomic<bool> is_taken{false};
        ekiden::future<void> result;
        pool.post([&] {
            both.arrive_and_wait(); // the other worker runs the other task
            result = pool.submit([&] { is_taken = true; });
            is_posted.count_down();
            while (!is_taken) std::this_thread::yield();
        });
        pool.post([&] {
            both.arrive_and_wait();
            is_posted.wait();
            result.get();
        });
        pool.wait_idle();
        CHECK(is_taken);
    }
}

TEST_CASE("After a stop, an idle worker abandons the only task of a worker that runs a long task") {
    for (int round = 0; round != 20; ++round) {
        std::atomic<bool> is_abandoned{false};
        thread_pool pool({.threads = 2});
        // The pool destroys a task that it has run or abandoned, and the flag is set then.
        auto said = std::shared_ptr<void>(nullptr, [&](void*) { is_abandoned = true; });
        pool.post([&, held = std::move(said)]() mutable {
            pool.post([held = std::move(held)] {});
            pool.stop();
            while (!is_abandoned) std::this_thread::yield();
        });
        pool.join();
        CHECK(is_abandoned);
    }
}

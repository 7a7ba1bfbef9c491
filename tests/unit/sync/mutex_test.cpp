#include "stress.hpp"

#include <ekiden/sync/fifo_mutex.hpp>
#include <ekiden/sync/hybrid_mutex.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/sync/spin_mutex.hpp>

#include <tests/unit/asleep.hpp>

#include <doctest/doctest.h>

#include <condition_variable>
#include <mutex>

using namespace std::chrono_literals;

TEST_CASE_TEMPLATE("a mutex lets one thread in at a time", M, ekiden::mutex, ekiden::fifo_mutex,
                   ekiden::spin_mutex, ekiden::hybrid_mutex) {
    M m;
    int inside = 0;
    long count = 0;
    bool wrong = false;
    constexpr int threads = 6;
    constexpr int rounds = 5000;
    stress::together(threads, [&](int, stress::noise& noise) {
        for (int r = 0; r < rounds; ++r) {
            std::lock_guard guard(m);
            wrong |= ++inside != 1;
            noise();
            ++count;
            --inside;
        }
    });
    CHECK_FALSE(wrong);
    CHECK(count == long{threads} * rounds);
}

TEST_CASE_TEMPLATE("a mutex is a TimedMutex", M, ekiden::mutex, ekiden::fifo_mutex) {
    M m;
    std::unique_lock lock(m);
    std::thread other([&] {
        CHECK_FALSE(m.try_lock());
        CHECK_FALSE(m.try_lock_for(2ms));
        CHECK_FALSE(m.try_lock_until(std::chrono::system_clock::now() + 2ms));
        std::stop_source stop;
        stop.request_stop();
        CHECK_FALSE(m.lock(stop.get_token()));
    });
    other.join();
    lock.unlock();
    REQUIRE(lock.try_lock_for(1h));
    lock.unlock();
    REQUIRE(m.try_lock());
    m.unlock();
    M second;
    std::scoped_lock both(m, second);
}

TEST_CASE_TEMPLATE("a mutex works with condition_variable_any", M, ekiden::mutex, ekiden::fifo_mutex) {
    M m;
    std::condition_variable_any changed;
    int turn = 0;
    stress::together(2, [&](int i, stress::noise&) {
        for (int r = 0; r < 500; ++r) {
            std::unique_lock lock(m);
            changed.wait(lock, [&] { return turn % 2 == i; });
            ++turn;
            changed.notify_one();
        }
    });
    CHECK(turn == 1000);
}

TEST_CASE("a waiting thread is not overtaken for long") {
    ekiden::mutex m;
    std::atomic<bool> stop{false};
    std::thread hog([&] {
        while (!stop) {
            std::lock_guard guard(m);
            std::this_thread::sleep_for(100us);
        }
    });
    for (int i = 0; i < 20; ++i) {
        REQUIRE(m.try_lock_for(1min));
        m.unlock();
    }
    stop = true;
    hog.join();
}

TEST_CASE("fifo_mutex is taken in the order of arrival, however the threads run") {
    ekiden::fifo_mutex m;
    std::uint32_t expected = 0;
    long inversions = 0;
    stress::together(5, [&](int i, stress::noise& noise) {
        for (int r = 0; r < 8000; ++r) {
            if (i == 0 && r % 8 == 0 && m.try_lock_for(std::chrono::microseconds(noise.below(20)))) {
                m.unlock(); // takes no number, and gives up often: the order of the others stays
            }
            const std::uint32_t mine = m.lock_numbered();
            if (mine != expected) ++inversions;
            expected = (expected + 1) % ekiden::fifo_mutex::numbers;
            noise();
            m.unlock();
        }
    });
    CHECK(inversions == 0);
    m.lock();
    CHECK(m.longest_queue() >= 1);
    CHECK(m.longest_queue() <= 4);
    m.unlock();
}

TEST_CASE("fifo_mutex serves a queue of sleepers in order") {
    ekiden::fifo_mutex m;
    std::vector<int> order;
    std::vector<std::thread> threads;
    m.lock();
    for (int i = 0; i < 8; ++i) {
        threads.push_back(ekiden_test::start_asleep([&, i] {
            std::lock_guard guard(m);
            order.push_back(i);
        }));
    }
    m.unlock();
    for (auto& t : threads) t.join();
    CHECK(order == std::vector{0, 1, 2, 3, 4, 5, 6, 7});
    std::lock_guard guard(m);
    CHECK(m.longest_queue() == 8);
}

TEST_CASE("spin_mutex and hybrid_mutex can be tried") {
    ekiden::spin_mutex spin;
#if !defined(EKIDEN_ANNOTATE_LOCKS)
    static_assert(sizeof spin == 1);
#endif
    CHECK(spin.try_lock());
    CHECK_FALSE(spin.try_lock());
    spin.unlock();
    ekiden::basic_hybrid_mutex<10> hybrid;
    CHECK(hybrid.try_lock());
    CHECK_FALSE(hybrid.try_lock_for(1ms));
    CHECK_FALSE(hybrid.try_lock_until(std::chrono::steady_clock::now()));
    hybrid.unlock();
    std::scoped_lock both(spin, hybrid);
}

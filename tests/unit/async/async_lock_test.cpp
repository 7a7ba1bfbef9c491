// Awaited locks: what a coroutine gets, what a stop takes away, and what nobody may lose.
#include "lock_support.hpp"

#include <ekiden/async/async_lock.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/sync/fifo_mutex.hpp>
#include <ekiden/sync/hybrid_mutex.hpp>
#include <ekiden/sync/mutex.hpp>

#include "../effort.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace ekiden;
using ekiden_test::until;
using lock_support::spawner;

namespace {

enum class door { open, shut };
enum class door_op { shut, open };
constexpr auto door_table = make_state_table<door, door_op>(
    door::open, {{door_op::shut, door::open, door::shut}, {door_op::open, door::shut, door::open}});

} // namespace

TEST_CASE_TEMPLATE("coroutines and threads take turns in one mutex", Mutex, mutex, fifo_mutex, hybrid_mutex) {
    constexpr int rounds = 2000;
    thread_pool pool(2);
    Mutex m;
    long count = 0;
    {
        spawner coroutines(pool.get_executor());
        for (int i = 0; i < 4; ++i) {
            coroutines.spawn([&]() -> coroutine<> {
                for (int r = 0; r < rounds; ++r) {
                    const auto guard = co_await async_lock(m);
                    ++count;
                }
            });
        }
        std::thread thread([&] {
            for (int r = 0; r < rounds; ++r) {
                m.lock();
                ++count;
                m.unlock();
            }
        });
        thread.join();
    }
    CHECK(count == 5 * rounds);
    CHECK(m.try_lock());
    m.unlock();
}

TEST_CASE("a coroutine that waits for a lock does not block its thread") {
    thread_pool pool(1);
    mutex m;
    m.lock();
    std::atomic<bool> inside{false};
    spawner coroutines(pool.get_executor());
    coroutines.spawn([&]() -> coroutine<> {
        const auto guard = co_await async_lock(m);
        inside = guard.owns_lock();
    });
    for (int i = 0; i < 3; ++i) { // the one worker is free for others, and for those that wait behind
        std::atomic<bool> ran{false};
        pool.post([&] { ran = true; });
        until([&] { return ran.load(); });
    }
    CHECK_FALSE(inside);
    m.unlock();
    coroutines.join();
    CHECK(inside);
    CHECK(m.try_lock());
    m.unlock();
}

TEST_CASE("coroutines get a fifo_mutex in the order in which they asked for it") {
    constexpr int n = 100;
    thread_pool pool(1);
    fifo_mutex m;
    m.lock();
    std::vector<int> order;
    spawner coroutines(pool.get_executor());
    std::atomic<int> asked{0};
    for (int i = 0; i < n; ++i) {
        coroutines.spawn([&, i]() -> coroutine<> {
            ++asked;
            const auto guard = co_await async_lock(m);
            order.push_back(i);
        });
        until([&] { return asked == i + 1; });
    }
    m.unlock();
    coroutines.join();
    for (int i = 1; i < n; ++i)
        CHECK(order[static_cast<std::size_t>(i)] > order[static_cast<std::size_t>(i - 1)]);
}

TEST_CASE_TEMPLATE("readers share and the writer is alone, threads among them", Lock,
                   rw_mutex<rw_policy::basic>, rw_mutex<rw_policy::writer_next>,
                   rw_mutex<rw_policy::writer_first>, rw_mutex<rw_policy::fifo>) {
    constexpr int rounds = 500;
    thread_pool pool(2);
    Lock m;
    std::atomic<int> readers{0};
    std::atomic<int> writers{0};
    std::atomic<bool> wrong{false};
    long written = 0;
    const auto as_reader = [&] {
        ++readers;
        if (writers != 0) wrong = true;
        --readers;
    };
    const auto as_writer = [&] {
        if (++writers != 1 || readers != 0) wrong = true;
        ++written;
        --writers;
    };
    {
        spawner coroutines(pool.get_executor());
        for (int i = 0; i < 6; ++i) {
            coroutines.spawn([&, i]() -> coroutine<> {
                for (int r = 0; r < rounds; ++r) {
                    if (i % 3 == 0) {
                        const auto guard = co_await async_lock(m);
                        as_writer();
                    } else {
                        const auto guard = co_await async_lock_shared(m);
                        as_reader();
                    }
                }
            });
        }
        std::thread thread([&] {
            for (int r = 0; r < rounds; ++r) {
                m.lock_shared();
                as_reader();
                m.unlock_shared();
                m.lock();
                as_writer();
                m.unlock();
            }
        });
        thread.join();
    }
    CHECK_FALSE(wrong);
    CHECK(written == 3 * rounds);
    CHECK(m.try_lock());
    m.unlock();
}

TEST_CASE("a coroutine enters a state_mutex in the states of its table") {
    constexpr int rounds = 1000;
    thread_pool pool(2);
    state_mutex<door_table> m;
    int open = 1;
    bool wrong = false; // guarded by m
    {
        spawner coroutines(pool.get_executor());
        coroutines.spawn([&]() -> coroutine<> {
            for (int r = 0; r < rounds; ++r) {
                auto guard = co_await async_enter<door_op::shut>(m);
                if (open-- != 1) wrong = true;
                guard.template leave<door::shut>();
            }
        });
        for (int r = 0; r < rounds; ++r) {
            auto guard = m.enter<door_op::open>();
            if (open++ != 0) wrong = true;
            guard.leave<door::open>();
        }
    }
    CHECK_FALSE(wrong);
    CHECK(open == 1);
}

TEST_CASE("rule: not admissible and enqueued are one step, and a waker between them is seen") {
    const int rounds = ekiden_test::rounds(20'000);
    thread_pool pool(2);
    counting_semaphore<> ping(0);
    counting_semaphore<> pong(0);
    int seen = 0;
    spawner coroutines(pool.get_executor());
    coroutines.spawn([&]() -> coroutine<> {
        for (int r = 0; r < rounds; ++r) {
            co_await async_acquire(ping);
            ++seen;
            pong.release();
        }
    });
    for (int r = 0; r < rounds; ++r) { // each release races with the coroutine's next wait
        ping.release();
        pong.acquire();
    }
    coroutines.join();
    CHECK(seen == rounds);
}

TEST_CASE("rule: with n permits and random stops exactly n are taken, and none vanishes") {
    const int rounds = ekiden_test::rounds(300);
    thread_pool pool(2);
    for (int r = 0; r < rounds; ++r) {
        constexpr int permits = 5;
        constexpr int waiting = 10;
        counting_semaphore<> s(0);
        std::deque<stop_state> stops(waiting);
        std::atomic<int> taken{0};
        std::atomic<int> stopped{0};
        {
            spawner coroutines(pool.get_executor());
            for (int i = 0; i < waiting; ++i) {
                coroutines.spawn(pool.get_executor(), &stops[static_cast<std::size_t>(i)],
                                 [&]() -> coroutine<> {
                                     const bool got = co_await async_acquire(s, wait_limit());
                                     ++(got ? taken : stopped);
                                 });
            }
            std::thread stopper([&] {
                for (int i = r % 2; i < waiting; i += 2) stops[static_cast<std::size_t>(i)].request_stop();
            });
            for (int i = 0; i < permits; ++i) s.release();
            stopper.join();
            until([&] { return taken + stopped >= permits; });
            for (stop_state& stop : stops) stop.request_stop();
        }
        int left = 0;
        while (s.try_acquire()) ++left;
        REQUIRE(taken + left == permits);
        REQUIRE(taken + stopped == waiting);
    }
}

TEST_CASE_TEMPLATE("rule: a mutex that is granted as a stop comes is held, or goes to the next", Mutex, mutex,
                   fifo_mutex) {
    const int rounds = ekiden_test::rounds(1000);
    thread_pool pool(2);
    for (int r = 0; r < rounds; ++r) {
        Mutex m;
        stop_state stop;
        m.lock();
        std::atomic<int> got{0};
        {
            spawner coroutines(pool.get_executor());
            coroutines.spawn(pool.get_executor(), &stop, [&]() -> coroutine<> {
                const auto mine = co_await async_lock(m, wait_limit());
                got += mine ? 1 : 0;
            });
            coroutines.spawn([&]() -> coroutine<> {
                const auto guard = co_await async_lock(m);
                ++got;
            });
            std::thread stopper([&] { stop.request_stop(); });
            m.unlock();
            stopper.join();
        }
        REQUIRE(got >= 1); // the one without a stop has had it
        REQUIRE(m.try_lock());
        m.unlock();
    }
}

TEST_CASE("rule: an operation begun after the stop completes at once with operation_canceled, posted") {
    thread_pool pool(1);
    const strand serial(pool.get_executor()); // runs in the order of the posts
    stop_state stop;
    stop.request_stop();
    mutex m;
    counting_semaphore<> s(1);
    state_mutex<door_table> doors;
    rw_mutex<> rw;
    int canceled = 0;
    bool others_ran = false;
    bool is_inline = false;
    spawner coroutines(serial);
    coroutines.spawn(serial, &stop, [&]() -> coroutine<> {
        // All of these are free.
        serial.post([&] { others_ran = true; });
        const auto locked = co_await async_lock(m, wait_limit());
        is_inline = !others_ran;
        canceled += locked ? 0 : 1;
        const auto shared = co_await async_lock_shared(rw, wait_limit());
        canceled += shared ? 0 : 1;
        const bool acquired = co_await async_acquire(s, wait_limit());
        canceled += acquired ? 0 : 1;
        const auto entered = co_await async_enter<door_op::shut>(doors, wait_limit());
        canceled += entered ? 0 : 1;
        try {
            const auto guard = co_await async_lock(m);
        } catch (const operation_canceled& e) {
            canceled += e.code() == std::errc::operation_canceled ? 1 : 0;
        }
    });
    coroutines.join();
    CHECK_FALSE(is_inline);
    CHECK(canceled == 5);
    CHECK(m.try_lock());
    m.unlock();
    CHECK(s.try_acquire());
}

TEST_CASE("rule: what was granted before the stop is delivered, although the stop comes before it runs") {
    thread_pool pool(1);
    stop_state stop;
    mutex m;
    m.lock();
    bool got = false;
    spawner coroutines(pool.get_executor());
    std::atomic<bool> asked{false};
    coroutines.spawn(pool.get_executor(), &stop, [&]() -> coroutine<> {
        asked = true;
        const auto guard = co_await async_lock(m);
        got = true;
    });
    until([&] { return asked.load(); });
    std::atomic<bool> busy{false};
    std::atomic<bool> go{false};
    pool.post([&] {
        busy = true;
        until([&] { return go.load(); });
    });
    until([&] { return busy.load(); }); // so the coroutine waits, and will not run yet
    m.unlock();                         // granted
    stop.request_stop();
    go = true;
    coroutines.join();
    CHECK(got);
    CHECK(m.try_lock());
    m.unlock();
}

TEST_CASE("rule: publishing the waiter is the last touch of the frame, and the stop is registered before") {
    const int rounds = ekiden_test::rounds(2000);
    thread_pool pool(2);
    for (int r = 0; r < rounds; ++r) {
        auto s = std::make_unique<counting_semaphore<>>(0);
        stop_state stop;
        std::atomic<bool> over{false};
        spawner coroutines(pool.get_executor());
        coroutines.spawn(pool.get_executor(), &stop, [&]() -> coroutine<> {
            // Resumed while it is still in await_suspend.
            const bool got = co_await async_acquire(*s, wait_limit());
            if (got) s.reset();
            over = true;
        });
        if (r % 2 == 0) s->release();
        stop.request_stop();
        coroutines.join();
        REQUIRE(over);
    }
}

TEST_CASE("rule: an awaitable made on one executor and awaited on another resumes where the awaiter runs") {
    thread_pool here(1);
    thread_pool there(1);
    mutex m;
    m.lock();
    auto operation = async_lock(m); // made on no executor at all
    std::atomic<bool> asked{false};
    std::thread::id before;
    std::thread::id after;
    spawner coroutines(there.get_executor());
    coroutines.spawn([&]() -> coroutine<> {
        before = std::this_thread::get_id();
        asked = true;
        const auto guard = co_await operation;
        after = std::this_thread::get_id();
    });
    until([&] { return asked.load(); });
    std::atomic<bool> released{false};
    here.post([&] {
        detail::lock_access::core(m).exit(0); // on another pool's thread
        released = true;
    });
    coroutines.join();
    until([&] { return released.load(); });
    CHECK(before == after);
}

TEST_CASE("what a coroutine was granted goes on to the next if its executor is gone before it could run") {
    mutex m;
    m.lock();
    counting_semaphore<> s(0);
    std::atomic<int> ended{0};
    {
        thread_pool gone(1);
        std::atomic<int> asked{0};
        const auto spawn = [&](auto body) {
            auto& promise = lock_support::root(std::move(body), ended).promise();
            promise.begin(gone.get_executor());
        };
        for (int i = 0; i < 100; ++i) {
            spawn([&]() -> coroutine<> {
                ++asked;
                const auto guard = co_await async_lock(m);
                FAIL("resumed after the end of its executor");
            });
            spawn([&]() -> coroutine<> {
                ++asked;
                co_await async_acquire(s);
                FAIL("resumed after the end of its executor");
            });
        }
        until([&] { return asked == 200; });
        gone.wait_idle(); // the last one waits, too
        gone.stop();
        m.unlock();
        s.release();
    }
    CHECK(ended == 200);
    CHECK(m.try_lock());
    m.unlock();
    CHECK(s.try_acquire());
    CHECK_FALSE(s.try_acquire());
}

TEST_CASE("rule: a context is destroyed with coroutines in locks: each frame ends once and leaves no trace") {
    const int n = ekiden_test::rounds(10'000);
    mutex m;
    m.lock();
    std::atomic<int> ended{0};
    {
        thread_pool gone(2);
        std::atomic<int> asked{0};
        for (int i = 0; i < n; ++i) {
            auto body = [&]() -> coroutine<> {
                ++asked;
                const auto guard = co_await async_lock(m);
                FAIL("nobody has released it");
            };
            auto& promise = lock_support::root(std::move(body), ended).promise();
            promise.begin(gone.get_executor());
        }
        until([&] { return asked == n; });
        gone.stop();
    }
    CHECK(ended == n);
    m.unlock();
    CHECK(m.try_lock());
    m.unlock();
}

TEST_CASE("a guard of a coroutine is moved, and unlocks early or at its end") {
    thread_pool pool(1);
    mutex m;
    bool fine = true;
    spawner coroutines(pool.get_executor());
    coroutines.spawn([&]() -> coroutine<> {
        auto first = co_await async_lock(m);
        auto second = std::move(first);
        fine = fine && !first.owns_lock() && second.owns_lock() && !m.try_lock();
        second.unlock();
        second.unlock();
        fine = fine && m.try_lock();
        m.unlock();
        second = co_await async_lock(m);
        fine = fine && !m.try_lock() && second.mutex() == &m;
        fine = fine && second.release() == &m && !second.owns_lock() && second.release() == nullptr;
        fine = fine && !m.try_lock();
        async_unlock(m);
        const async_lock_guard adopted(*(co_await async_lock(m)).release(), std::adopt_lock);
        fine = fine && adopted.owns_lock() && !m.try_lock();
    });
    coroutines.join();
    CHECK(fine);
    CHECK(m.try_lock());
    m.unlock();
}

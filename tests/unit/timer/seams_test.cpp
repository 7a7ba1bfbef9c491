// Timers and the end of other things: of the timers themselves, their handlers, their context, threads, the
// process.
#include <ekiden/timer/steady_timer.hpp>
#include <ekiden/timer/system_timer.hpp>

#include "../asleep.hpp"
#include "../child_process.hpp"
#include "../effort.hpp"
#include "hand_driven.hpp"
#include <doctest/doctest.h>
#include <ekiden/execution/bind_executor.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <tests/unit/posix.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

namespace {

using namespace ekiden;
using namespace std::chrono_literals;
using ekiden_test::hand_driven;

using hand_timer = basic_waitable_timer<std::chrono::steady_clock, hand_driven::executor_type>;
using pool_timer = basic_waitable_timer<std::chrono::steady_clock, thread_pool::executor_type>;

void wait_for(const std::atomic<bool>& flag) {
    while (!flag.load()) std::this_thread::yield();
}

/// Counts its destruction.
struct end_witness {
    explicit end_witness(int& ends) noexcept : ends_(&ends) {}
    end_witness(end_witness&& other) noexcept : ends_(std::exchange(other.ends_, nullptr)) {}
    ~end_witness() {
        if (ends_ != nullptr) ++*ends_;
    }
    int* ends_;
};

} // namespace

// ---- in its own handler

TEST_CASE("A handler may end, move, set again and cancel its own timer") {
    hand_driven context;
    int ended = 0;
    auto owned = std::make_unique<hand_timer>(context, 0ns);
    owned->async_wait([&](std::error_code) {
        owned.reset();
        ++ended;
    });
    context.run();
    CHECK(ended == 1);
    CHECK(owned == nullptr);

    hand_timer first(context, 0ns);
    std::optional<hand_timer> second;
    int turns = 0;
    std::function<void(std::error_code)> again = [&](std::error_code error) {
        CHECK_FALSE(error);
        hand_timer& here = second.has_value() ? *second : first;
        CHECK(here.cancel() == 0); // this handler has begun
        CHECK(here.expires_after(1us) == 0);
        if (++turns < 5) here.async_wait([&](std::error_code e) { again(e); });
        if (turns == 3) second.emplace(std::move(first));
    };
    first.async_wait([&](std::error_code e) { again(e); });
    context.run();
    CHECK(turns == 5);
}

TEST_CASE("A handler that ends its timer cancels the waits behind it") {
    hand_driven context;
    auto timer = std::make_unique<hand_timer>(context, 0ns);
    int canceled = 0;
    timer->async_wait([&](std::error_code) { timer.reset(); });
    for (int i = 0; i != 3; ++i) timer->async_wait([&](std::error_code error) { canceled += !!error; });
    context.run();
    CHECK(canceled == 3);
}

TEST_CASE("A handler that throws does so out of its executor, and the timer goes on") {
    hand_driven context;
    hand_timer timer(context, 0ns);
    int ran = 0;
    timer.async_wait([](std::error_code) { throw std::runtime_error("one"); });
    timer.async_wait([&](std::error_code) { ++ran; });
    CHECK_THROWS_AS(context.run(), std::runtime_error);
    CHECK(timer.cancel_and_wait() == 1); // the handler that threw does not count as running
    context.run();
    CHECK(ran == 1);
    timer.expires_after(0ns);
    timer.async_wait([&](std::error_code error) { ran += !error; });
    context.run();
    CHECK(ran == 2);
    CHECK(context.work() == 0);
}

TEST_CASE("A handler that throws when it is moved is gone, with its memory") {
    struct throws_when_moved {
        bool* armed;
        int* ends;
        throws_when_moved(bool* a, int* e) : armed(a), ends(e) {}
        throws_when_moved(throws_when_moved&& other) : armed(other.armed), ends(other.ends) {
            if (*armed) throw std::runtime_error("moved");
        }
        ~throws_when_moved() { ++*ends; }
        void operator()(std::error_code) const {}
    };
    hand_driven context;
    hand_timer timer(context, 0ns);
    bool armed = false;
    int ends = 0;
    timer.async_wait(throws_when_moved(&armed, &ends));
    const int before = ends;
    armed = true;
    CHECK_THROWS_AS(context.run(), std::runtime_error);
    CHECK(ends == before + 1);
    CHECK(context.work() == 0);
    CHECK(timer.cancel_and_wait() == 0);
}

// ---- cancel_and_wait

TEST_CASE("cancel_and_wait returns when the handler that runs has ended") {
    thread_pool pool({.threads = 2});
    pool_timer timer(pool, 0ns);
    std::atomic<bool> has_begun{false};
    std::atomic<bool> may_end{false};
    int written = 0;
    timer.async_wait([&](std::error_code) {
        has_begun = true;
        wait_for(may_end);
        written = 7;
    });
    wait_for(has_begun);
    CHECK(timer.cancel() == 0); // the handler has begun
    std::thread waiter = ekiden_test::start_asleep([&] {
        CHECK(timer.cancel_and_wait() == 0);
        CHECK(written == 7);
    });
    may_end = true;
    waiter.join();
}

TEST_CASE("cancel_and_wait inside of a handler of the timer does not wait") {
    thread_pool pool({.threads = 2});
    pool_timer timer(pool, 0ns);
    std::latch both(2);
    std::atomic<int> ended{0};
    for (int i = 0; i != 2; ++i) {
        timer.async_wait([&](std::error_code) {
            both.arrive_and_wait(); // two handlers of one timer run at the same time
            CHECK(timer.cancel_and_wait() == 0);
            // A task that runs below a waiting handler still belongs to that handler's thread.
            pool.submit([&] { (void)timer.cancel(); }).get();
            ended.fetch_add(1);
        });
    }
    pool.join();
    CHECK(ended.load() == 2);
}

TEST_CASE("After cancel_and_wait no handler of the timer runs but those that report so") {
    thread_pool pool({.threads = 2});
    for (int round = 0; round != ekiden_test::rounds(2000); ++round) {
        pool_timer timer(pool, std::chrono::microseconds(round % 50));
        std::atomic<bool> is_over{false};
        std::atomic<int> wrong{0};
        std::atomic<int> reports{0};
        timer.async_wait([&](std::error_code error) {
            if (!error && is_over.load()) wrong.fetch_add(1);
            if (!error) std::this_thread::yield();
            if (!error && is_over.load()) wrong.fetch_add(1);
            reports.fetch_add(1);
        });
        if (round % 3 == 0) std::this_thread::yield();
        (void)timer.cancel_and_wait();
        is_over = true;
        while (reports.load() == 0) std::this_thread::yield();
        CHECK(wrong.load() == 0);
        pool.wait_idle();
    }
}

// ---- many threads

TEST_CASE("From any number of threads: each wait ends once, and as many report so as were counted") {
    for (const unsigned threads : {1U, 2U, 4U}) {
        thread_pool pool({.threads = threads});
        std::atomic<long> counted{0};
        std::atomic<long> reported{0};
        std::atomic<long> ended{0};
        long begun = 0;
        {
            pool_timer timer(pool);
            std::atomic<bool> stops{false};
            std::vector<std::thread> cancellers;
            for (int c = 0; c != 2; ++c) {
                cancellers.emplace_back([&, c] {
                    while (!stops.load()) {
                        counted += static_cast<long>(c == 0 ? timer.cancel() : timer.cancel_one());
                        std::this_thread::yield();
                    }
                });
            }
            std::mt19937 random(threads);
            for (int round = 0; round != ekiden_test::rounds(20'000); ++round) {
                counted += static_cast<long>(timer.expires_after(std::chrono::microseconds(random() % 20)));
                for (unsigned waits = random() % 4; waits != 0; --waits) {
                    ++begun;
                    timer.async_wait([&](std::error_code error) {
                        if (error) reported.fetch_add(1);
                        ended.fetch_add(1);
                    });
                }
            }
            stops = true;
            for (auto& c : cancellers) c.join();
            counted += static_cast<long>(timer.cancel_and_wait());
        }
        pool.join();
        CHECK(ended.load() == begun);
        CHECK(reported.load() == counted.load());
    }
}

TEST_CASE("Timers that end while they fire: each wait ends once") {
    thread_pool pool({.threads = 2});
    std::atomic<long> ended{0};
    std::vector<std::thread> users;
    const int rounds = ekiden_test::rounds(10'000);
    for (int u = 0; u != 3; ++u) {
        users.emplace_back([&] {
            for (int round = 0; round != rounds; ++round) {
                steady_timer timer(pool, std::chrono::microseconds(round % 30));
                for (int i = 0; i != 2; ++i) timer.async_wait([&](std::error_code) { ended.fetch_add(1); });
                if (round % 2 == 0) steady_timer(std::move(timer)).wait();
            }
        });
    }
    for (auto& u : users) u.join();
    pool.join();
    CHECK(ended.load() == 6L * rounds);
}

TEST_CASE("Waits of one timer end in order while a thread fires and another one adds") {
    hand_driven context(false); // its own thread fires the timers
    for (int round = 0; round != ekiden_test::rounds(300); ++round) {
        hand_timer timer(context, std::chrono::microseconds(round % 40));
        std::vector<int> order;
        constexpr int waits = 40;
        for (int i = 0; i != waits; ++i) timer.async_wait([&, i](std::error_code) { order.push_back(i); });
        int ran = 0;
        while (ran != waits) {
            ran += context.run_all();
            std::this_thread::yield();
        }
        CHECK(std::is_sorted(order.begin(), order.end()));
    }
}

// ---- the context's end

TEST_CASE("A context's end destroys what waits and what is queued, without running it") {
    int ends = 0;
    int ran = 0;
    std::optional<hand_timer> survivor;
    {
        hand_driven context;
        survivor.emplace(context, 1h);
        hand_timer queued(context, 0ns);
        survivor->async_wait([w = end_witness(ends), &ran](std::error_code) { ++ran; });
        queued.async_wait([w = end_witness(ends), &ran](std::error_code) { ++ran; });
        // A handler that owns a timer of the same context. That timer waits, too.
        auto inner = std::make_unique<hand_timer>(context, 2h);
        inner->async_wait([w = end_witness(ends), &ran](std::error_code) { ++ran; });
        survivor->async_wait([i = std::move(inner), w = end_witness(ends), &ran](std::error_code) { ++ran; });
        context.ring();
        CHECK(context.queued() == 1);
        queued.cancel();
    }
    CHECK(ran == 0);
    CHECK(ends == 4);
    CHECK(survivor->cancel() == 0); // has no wait, so it does not know its context
    CHECK(survivor->cancel_and_wait() == 0);
    survivor.reset();
}

TEST_CASE("What waits for a timer of a context that shuts down is destroyed at once") {
    struct closing : hand_driven {
        void shut_down() { shut_down_services(); }
    } context;
    hand_timer timer(context, 1h);
    int ends = 0;
    timer.async_wait([w = end_witness(ends)](std::error_code) {});
    context.shut_down();
    CHECK(ends == 1);
    timer.async_wait([w = end_witness(ends)](std::error_code) {});
    CHECK(ends == 2);
    CHECK(context.work() == 0);
    CHECK(timer.cancel() == 0);
}

TEST_CASE("A pool that is stopped with timers pending ends, and destroys their handlers") {
    for (int round = 0; round != ekiden_test::rounds(200); ++round) {
        std::atomic<int> ends{0};
        constexpr int count = 20;
        struct counter {
            std::atomic<int>* ends;
            explicit counter(std::atomic<int>& e) : ends(&e) {}
            counter(counter&& o) noexcept : ends(std::exchange(o.ends, nullptr)) {}
            ~counter() {
                if (ends != nullptr) ends->fetch_add(1);
            }
        };
        {
            thread_pool pool({.threads = 2});
            std::vector<std::unique_ptr<pool_timer>> timers;
            for (int i = 0; i != count; ++i) {
                timers.push_back(std::make_unique<pool_timer>(pool, std::chrono::microseconds(i * 10)));
                timers.back()->async_wait([c = counter(ends)](std::error_code) {});
            }
            if (round % 2 == 0) std::this_thread::sleep_for(50us);
            pool.stop();
        }
        CHECK(ends.load() == count);
    }
}

TEST_CASE("The last reference to a pool may be dropped by a handler that the timers' thread destroys") {
    for (int round = 0; round != ekiden_test::rounds(100); ++round) {
        std::atomic<bool> has_ended{false};
        struct at_end {
            std::shared_ptr<thread_pool> pool;
            std::atomic<bool>* has_ended;
            at_end(std::shared_ptr<thread_pool> p, std::atomic<bool>* e) : pool(std::move(p)), has_ended(e) {}
            at_end(at_end&& o) noexcept
                : pool(std::move(o.pool)), has_ended(std::exchange(o.has_ended, nullptr)) {}
            ~at_end() {
                pool.reset();
                if (has_ended != nullptr) has_ended->store(true);
            }
        };
        auto pool = std::make_shared<thread_pool>(thread_pool_options{.threads = 1});
        pool->stop(); // accepts no more tasks, so a handler is destroyed where its timer fires
        // With other timers, some behind it in the same batch, some far in the future.
        std::vector<std::unique_ptr<pool_timer>> timers;
        for (const auto distance : {2'000us, 2'000us, 2'001us, 3'600'000'000us}) {
            timers.push_back(std::make_unique<pool_timer>(*pool, distance));
            if (timers.size() == 2) {
                timers.back()->async_wait([e = at_end(pool, &has_ended)](std::error_code) {});
            } else {
                timers.back()->async_wait([](std::error_code) {});
            }
        }
        pool.reset();
        wait_for(has_ended);
    }
}

namespace {

/// A handler that has a reference to a pool, and reports its own destruction.
struct pool_keeper {
    std::shared_ptr<thread_pool> pool;
    std::atomic<bool>* has_ended;
    pool_keeper(std::shared_ptr<thread_pool> kept, std::atomic<bool>& flag)
        : pool(std::move(kept)), has_ended(&flag) {}
    pool_keeper(pool_keeper&& o) noexcept
        : pool(std::move(o.pool)), has_ended(std::exchange(o.has_ended, nullptr)) {}
    ~pool_keeper() {
        pool.reset();
        if (has_ended != nullptr) has_ended->store(true);
    }
    void operator()(std::error_code) const {}
};

} // namespace

TEST_CASE("A pool that ends in the thread of its timers may have timers of another clock") {
    std::atomic<bool> has_ended{false};
    int ends = 0;
    {
        auto pool = std::make_shared<thread_pool>(thread_pool_options{.threads = 1});
        pool->stop(); // accepts no more tasks, like above
        system_timer other(*pool, std::chrono::system_clock::now() + 1h);
        other.async_wait([w = end_witness(ends)](std::error_code) {});
        pool_timer timer(*pool, 50ms); // does not fire before reset()
        timer.async_wait(pool_keeper(pool, has_ended));
        pool.reset();
        wait_for(has_ended);
    }
    CHECK(ends == 1);
}

TEST_CASE("A pool may end while one of several waits of a timer is posted: the others are destroyed") {
    for (const bool cancels : {false, true}) {
        std::atomic<bool> has_ended{false};
        int ends = 0;
        {
            auto pool = std::make_shared<thread_pool>(thread_pool_options{.threads = 1});
            pool->stop();
            pool_timer timer(*pool, cancels ? 3'600'000ms : 50ms); // does not fire before reset()
            timer.async_wait(pool_keeper(pool, has_ended));
            timer.async_wait([w = end_witness(ends)](std::error_code) {});
            timer.async_wait([w = end_witness(ends)](std::error_code) {});
            pool.reset();
            if (cancels) CHECK(timer.cancel() == 3);
            wait_for(has_ended);
        }
        CHECK(ends == 2);
    }
}

// ---- threads and processes

namespace {

/// Uses a timer when its thread ends.
struct late_user {
    static inline thread_pool* target;
    static inline std::atomic<int> ran;
    bool is_used = false;
    std::unique_ptr<pool_timer> kept;

    ~late_user() {
        if (!is_used) return;
        pool_timer timer(*target, 0ns);
        timer.async_wait([](std::error_code) { ran.fetch_add(1); });
        timer.cancel();
        kept->async_wait([](std::error_code) { ran.fetch_add(1); });
        kept->cancel_and_wait();
        kept.reset();
    }
};
thread_local late_user user;

} // namespace

TEST_CASE("Destructors of thread_local objects may wait for timers, cancel them and end them") {
    EKIDEN_SKIP_WITH_GCC_ON_WINDOWS("frees thread_local objects before it destroys them");
    late_user::ran = 0;
    thread_pool pool({.threads = 1});
    late_user::target = &pool;
    constexpr int threads = 20;
    for (int i = 0; i != threads; ++i) {
        std::thread([&] {
            user.is_used = true;
            user.kept = std::make_unique<pool_timer>(pool, 1h);
            user.kept->async_wait([](std::error_code) { late_user::ran.fetch_add(1); });
        }).join();
    }
    pool.join();
    CHECK(late_user::ran.load() == 3 * threads);
}

#if !defined(EKIDEN_TSAN)
TEST_CASE("In the child of a fork the parent's timers do nothing, and new ones of a new pool work") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    if (!ekiden_test::can_child_start_threads()) return;
    thread_pool pool({.threads = 1});
    auto timer = std::make_unique<pool_timer>(pool, 1h);
    pool_timer unused(pool, 0ns);
    int ran = 0;
    timer->async_wait([&](std::error_code) { ++ran; });
    const auto child = ekiden_test::run_in_child([&] {
        bool is_right = timer->cancel() == 0 && timer->cancel_one() == 0 && timer->cancel_and_wait() == 0;
        for (pool_timer* const parents : {timer.get(), &unused}) {
            try {
                parents->async_wait([](std::error_code) {});
                is_right = false;
            } catch (const std::system_error& refusal) {
                is_right = is_right && refusal.code() == std::errc::operation_not_permitted;
            }
        }
        timer.reset();
        pool_timer(pool, 1ms).wait();
        thread_pool own({.threads = 1});
        pool_timer here(own, 1ms);
        std::atomic<int> fired{0};
        here.async_wait([&](std::error_code error) { fired += error ? 0 : 1; });
        own.join();
        std::_Exit(is_right && fired.load() == 1 ? 17 : 1);
    });
    CHECK(child.exit_code == 17);
    CHECK(timer->cancel() == 1);
    pool.join();
    CHECK(ran == 1);
}

TEST_CASE("In the child of a fork a context of the parent that had no timers refuses the first one") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    thread_pool pool({.threads = 1});
    loop_context loop;
    const auto is_refused = [](auto& context) {
        steady_timer first(context, 0ns);
        try {
            first.async_wait([](std::error_code) {});
        } catch (const std::system_error& refusal) {
            return refusal.code() == std::errc::operation_not_permitted;
        }
        return false;
    };
    const auto child =
        ekiden_test::run_in_child([&] { std::_Exit(is_refused(pool) && is_refused(loop) ? 17 : 1); });
    CHECK(child.exit_code == 17);
}
#endif

TEST_CASE("A timer that is set again while its pool ends does not fire early") {
    std::atomic<int> early{0};
    for (int round = 0; round != ekiden_test::rounds(200); ++round) {
        thread_pool pool({.threads = 1});
        thread_pool other({.threads = 1});
        std::vector<std::unique_ptr<pool_timer>> timers;
        for (int i = 0; i != 40; ++i) {
            timers.push_back(std::make_unique<pool_timer>(pool, 50us));
            timers.back()->async_wait(bind_executor(other, [](std::error_code) {}));
        }
        std::this_thread::sleep_for(std::chrono::microseconds(20 + round % 60));
        for (auto& timer : timers) {
            timer->expires_after(1h);
            timer->async_wait(
                bind_executor(other, [&](std::error_code error) { early.fetch_add(error ? 0 : 1); }));
        }
        pool.stop();
        pool.join();
        other.join(); // the handlers in its queue use both pools
    }
    CHECK(early.load() == 0);
}

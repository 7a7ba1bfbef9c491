#include <ekiden/context/held_locks.hpp>
#include <ekiden/execution/any_executor.hpp>
#include <ekiden/execution/executor.hpp>
#include <ekiden/future/promise.hpp>
#include <ekiden/loop/loop_context.hpp>

#include <tests/unit/child_process.hpp>
#include <tests/unit/effort.hpp>
#include <tests/unit/posix.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using ekiden::loop_context;
using namespace std::chrono_literals;

namespace {

/// Both engines keep the same rules.
constexpr int all_hints[] = {1, 2, loop_context::many};

static_assert(ekiden::task_executor<loop_context::executor_type>);
static_assert(sizeof(loop_context::executor_type) == sizeof(void*));

} // namespace

// ---- run, poll, stop

TEST_CASE("An end of outstanding work that has not begun stops the program with a message") {
    for (const int hint : all_hints) {
        const auto child = ekiden_test::run_in_child([hint] {
            loop_context loop(hint);
            loop.get_executor().on_work_started();
            loop.get_executor().on_work_finished();
            loop.get_executor().on_work_finished();
            std::_Exit(0);
        });
        CHECK(child.signal == SIGABRT);
        CHECK(child.error_output
              == "ekiden: on_work_finished() is called more often than on_work_started()\n");
    }
}

TEST_CASE("A debug build warns when a context that ran out of work is run without restart()") {
    for (const int hint : all_hints) {
        for (const bool restarts : {false, true}) {
            const auto child = ekiden_test::run_in_child([=] {
                loop_context loop(hint);
                int ran = 0;
                loop.get_executor().post([&] { ++ran; });
                (void)loop.run();
                (void)loop.run(); // nothing is left behind
                if (restarts) loop.restart();
                loop.get_executor().post([&] { ++ran; });
                (void)loop.run();
                (void)loop.run(); // warned once
                std::_Exit(ran);
            });
            CHECK(child.exit_code == (restarts ? 2 : 1));
            const bool is_told = ekiden::lock_checks && !restarts;
            CHECK(child.error_output
                  == (is_told
                          ? "ekiden: loop_context: run() does nothing: the context stopped when it had no "
                            "work, and tasks were posted since; call restart() first\n"
                          : ""));
        }
    }
}

TEST_CASE("A context that was stopped while tasks are queued is run without a warning") {
    const auto child = ekiden_test::run_in_child([] {
        loop_context loop(1);
        loop.get_executor().post([] {});
        loop.stop();
        (void)loop.run();
        std::_Exit(0);
    });
    CHECK(child.exit_code == 0);
    CHECK(child.error_output.empty());
}

TEST_CASE("run without work returns 0 and stops the context") {
    for (const int hint : all_hints) {
        loop_context loop(hint);
        CHECK_FALSE(loop.is_stopped());
        CHECK(loop.run() == 0);
        CHECK(loop.is_stopped());
        CHECK(loop.run_one() == 0);
        CHECK(loop.poll() == 0);
        CHECK(loop.poll_one() == 0);
        loop.restart();
        CHECK_FALSE(loop.is_stopped());
        CHECK(loop.poll() == 0);
        CHECK(loop.is_stopped());
    }
}

TEST_CASE("run returns how many tasks it has run, with those that they post") {
    for (const int hint : all_hints) {
        loop_context loop(hint);
        const auto executor = loop.get_executor();
        std::string order;
        executor.post([&] {
            order += 'a';
            executor.post([&] { order += 'c'; });
            order += '-';
        });
        executor.post([&] { order += 'b'; });
        CHECK(order.empty());
        CHECK(loop.run() == 3);
        CHECK(order == "a-bc");
        CHECK(loop.is_stopped());
        executor.post([&] { order += 'd'; });
        CHECK(loop.run() == 0); // stopped
        loop.restart();
        CHECK(loop.run() == 1);
        CHECK(order == "a-bcd");
    }
}

TEST_CASE("run_one and poll_one run one task, and the context stops with its last one") {
    for (const int hint : all_hints) {
        loop_context loop(hint);
        int ran = 0;
        for (int i = 0; i != 4; ++i) loop.get_executor().post([&] { ++ran; });
        CHECK(loop.run_one() == 1);
        CHECK(loop.poll_one() == 1);
        CHECK(ran == 2);
        CHECK_FALSE(loop.is_stopped());
        CHECK(loop.run_one() == 1);
        CHECK_FALSE(loop.is_stopped());
        CHECK(loop.poll_one() == 1);
        CHECK(ran == 4);
        CHECK(loop.is_stopped());
    }
}

TEST_CASE("poll with outstanding work returns 0 and does not stop") {
    for (const int hint : all_hints) {
        loop_context loop(hint);
        const auto executor = loop.get_executor();
        executor.on_work_started();
        CHECK(loop.poll() == 0);
        CHECK(loop.poll_one() == 0);
        CHECK_FALSE(loop.is_stopped());
        executor.post([] {});
        executor.post([] {});
        CHECK(loop.poll() == 2);
        CHECK_FALSE(loop.is_stopped());
        executor.on_work_finished();
        CHECK(loop.poll() == 0);
        CHECK(loop.is_stopped());
    }
}

TEST_CASE("While work is outstanding run waits, and when that ends it returns") {
    for (const int hint : all_hints) {
        for (int round = 0; round != ekiden_test::rounds(200); ++round) {
            loop_context loop(hint);
            const auto executor = loop.get_executor();
            executor.on_work_started();
            std::atomic<bool> ran{false};
            std::thread elsewhere([&] {
                if (round % 2 == 0) std::this_thread::yield();
                executor.post([&] { ran = true; });
                executor.on_work_finished();
            });
            CHECK(loop.run() == 1);
            CHECK(ran.load());
            CHECK(loop.is_stopped());
            elsewhere.join();
        }
    }
}

TEST_CASE("stop keeps the queue, and restart goes on with it") {
    for (const int hint : all_hints) {
        loop_context loop(hint);
        const auto executor = loop.get_executor();
        std::string order;
        executor.post([&] {
            order += 'a';
            loop.stop();
        });
        executor.post([&] { order += 'b'; });
        CHECK(loop.run() == 1);
        CHECK(loop.is_stopped());
        executor.post([&] { order += 'c'; });
        CHECK(loop.poll() == 0);
        loop.restart();
        CHECK(loop.run() == 2);
        CHECK(order == "abc");
        loop.restart();
        loop.stop(); // before the run
        CHECK(loop.run() == 0);
    }
}

TEST_CASE("stop ends a run that waits") {
    for (const int hint : all_hints) {
        for (int round = 0; round != ekiden_test::rounds(200); ++round) {
            loop_context loop(hint);
            const auto executor = loop.get_executor();
            executor.on_work_started();
            std::thread stopper([&] { loop.stop(); });
            CHECK(loop.run() == 0);
            stopper.join();
            executor.on_work_finished();
        }
    }
}

TEST_CASE("run_for and run_until end in time, also at both ends of the range") {
    for (const int hint : all_hints) {
        loop_context loop(hint);
        const auto executor = loop.get_executor();
        executor.on_work_started();
        CHECK(loop.run_for(1ms) == 0);
        CHECK_FALSE(loop.is_stopped());
        executor.post([] {});
        CHECK(loop.run_for(0s) == 0); // it is over before the first task
        CHECK(loop.run_until(std::chrono::steady_clock::now() - 1h) == 0);
        CHECK(loop.run_one_for(1h) == 1);
        CHECK(loop.run_one_for(1ms) == 0);
        CHECK(loop.run_until(std::chrono::system_clock::now() + 1ms) == 0);
        executor.post([&] { loop.stop(); });
        CHECK(loop.run_for(std::chrono::hours::max()) == 1);
        loop.restart();
        executor.post([&] { executor.on_work_finished(); });
        CHECK(loop.run_until(std::chrono::steady_clock::time_point::max()) == 1);
        CHECK(loop.is_stopped());
    }
}

TEST_CASE("run_for ends although there is always another task") {
    for (const int hint : all_hints) {
        loop_context loop(hint);
        const auto executor = loop.get_executor();
        std::function<void()> again = [&] { executor.post([&] { again(); }); };
        again();
        while (loop.run_for(2ms) == 0) { // the time was over before the first task
        }
        CHECK_FALSE(loop.is_stopped());
    }
}

// ---- order and place

TEST_CASE("post and defer never run the function, dispatch does so inside only") {
    for (const int hint : all_hints) {
        loop_context loop(hint);
        const auto executor = loop.get_executor();
        std::string order;
        executor.dispatch([&] { order += '1'; });
        CHECK(order.empty());
        CHECK_FALSE(executor.running_in_this_thread());
        executor.post([&] {
            CHECK(executor.running_in_this_thread());
            CHECK(loop.running_in_this_thread());
            order += '2';
            executor.post([&] { order += 'p'; });
            executor.defer([&] { order += 'd'; });
            executor.dispatch([&] { order += '3'; });
        });
        CHECK(loop.run() == 4);
        CHECK(order == "123pd");
    }
}

TEST_CASE("Inside of another context, or in another thread, dispatch posts") {
    for (const int hint : all_hints) {
        loop_context inner(hint);
        loop_context outer(hint);
        std::string order;
        outer.get_executor().post([&] {
            inner.get_executor().dispatch([&] { order += 'i'; });
            order += 'o';
            inner.get_executor().post([&] {
                CHECK(outer.running_in_this_thread()); // around it
                outer.get_executor().dispatch([&] { order += 'n'; });
                std::thread([&] { outer.get_executor().dispatch([&] { order += 'l'; }); }).join();
            });
            CHECK(inner.run() == 2);
            CHECK_FALSE(inner.running_in_this_thread());
        });
        CHECK(outer.run() == 2);
        CHECK(order == "oinl");
    }
}

TEST_CASE("The tasks of each thread that posts are run in its order") {
    for (const int hint : all_hints) {
        const int each = ekiden_test::rounds(20'000);
        loop_context loop(hint);
        const auto executor = loop.get_executor();
        executor.on_work_started();
        constexpr int producers = 3;
        std::vector<int> next(producers, 0);
        int wrong = 0;
        std::vector<std::thread> threads;
        for (int p = 0; p != producers; ++p) {
            threads.emplace_back([&, p] {
                for (int i = 0; i != each; ++i) {
                    executor.post(
                        [&next, &wrong, p, i] { wrong += next[static_cast<std::size_t>(p)]++ != i; });
                }
            });
        }
        std::thread end([&] {
            for (std::thread& t : threads) t.join();
            executor.on_work_finished();
        });
        CHECK(loop.run() == static_cast<std::size_t>(producers * each));
        CHECK(wrong == 0);
        end.join();
    }
}

TEST_CASE("With the hint 1 the order is that of posting, whichever threads post") {
    loop_context loop(1);
    const auto executor = loop.get_executor();
    std::vector<int> order;
    for (int i = 0; i != 300; ++i) {
        std::thread([&, i] { executor.post([&order, i] { order.push_back(i); }); }).join();
    }
    CHECK(loop.run() == 300);
    for (int i = 0; i != 300; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("With the hint 1 a task's own posts keep their place among those of other threads") {
    loop_context loop(1);
    const auto executor = loop.get_executor();
    std::vector<int> order;
    const auto post = [&](int i) { executor.post([&order, i] { order.push_back(i); }); };
    executor.post([&] {
        for (int i = 0; i != 300; ++i) {
            if (i % 3 == 1)
                std::thread([&post, i] { post(i); }).join();
            else
                post(i);
        }
    });
    CHECK(loop.run_one() == 1);
    CHECK(loop.run() == 300);
    for (int i = 0; i != 300; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("What a task has posted stays for the next run, or is dropped with the context, as all the rest") {
    for (const int hint : all_hints) {
        const auto alive = std::make_shared<int>();
        {
            loop_context loop(hint);
            const auto executor = loop.get_executor();
            int ran = 0;
            executor.post([&] {
                for (int i = 0; i != 4; ++i) executor.post([&ran, alive] { ++ran; });
                loop.stop();
            });
            CHECK(loop.run() == 1);
            loop.restart();
            CHECK(loop.run_one() == 1);
            std::thread([&] { CHECK(loop.poll_one() == 1); }).join();
            CHECK(ran == 2);
            CHECK_FALSE(loop.is_stopped());
            CHECK(alive.use_count() > 1);
        }
        CHECK(alive.use_count() == 1);
    }
}

// ---- exceptions

TEST_CASE("What a task throws leaves run, and the rest runs in the next one, without a restart") {
    for (const int hint : all_hints) {
        loop_context loop(hint);
        const auto executor = loop.get_executor();
        std::string order;
        executor.post([&] { order += 'a'; });
        executor.post([] { throw std::runtime_error("one"); });
        executor.post([&] { order += 'b'; });
        executor.post([] { throw 2; });
        CHECK_THROWS_WITH_AS(loop.run(), "one", std::runtime_error);
        CHECK_FALSE(loop.is_stopped());
        CHECK_FALSE(loop.running_in_this_thread());
        CHECK(order == "a");
        CHECK(loop.run_one() == 1);
        CHECK_THROWS_AS(loop.poll(), int);
        CHECK_FALSE(loop.is_stopped());
        CHECK(loop.run() == 0);
        CHECK(order == "ab");
    }
}

TEST_CASE("What dispatch throws inside passes through it") {
    for (const int hint : all_hints) {
        loop_context loop(hint);
        const auto executor = loop.get_executor();
        bool was_caught = false;
        executor.post([&] {
            try {
                executor.dispatch([] { throw 1; });
            } catch (int) {
                was_caught = true;
            }
        });
        CHECK(loop.run() == 1);
        CHECK(was_caught);
    }
}

TEST_CASE("A call of post_bulk that throws leaves run, as any task") {
    for (const int hint : all_hints) {
        loop_context loop(hint);
        int ran = 0;
        loop.get_executor().post_bulk(10, [&](std::size_t i) {
            if (i == 5) throw 5;
            ++ran;
        });
        CHECK_THROWS_AS(loop.run(), int);
        CHECK(loop.run() > 0);
        CHECK(ran == 9);
    }
}

// ---- nesting

TEST_CASE("A task may run others of the same context") {
    for (const int hint : all_hints) {
        loop_context loop(hint);
        const auto executor = loop.get_executor();
        std::string order;
        executor.post([&] {
            order += '(';
            CHECK(loop.run_one() == 1);
            CHECK(loop.poll_one() == 1);
            CHECK(loop.poll() == 1);
            CHECK(loop.poll() == 0);
            CHECK_FALSE(loop.is_stopped()); // this task is work
            CHECK(loop.run_for(1ms) == 0);
            CHECK(loop.running_in_this_thread());
            order += ')';
        });
        for (const char c : {'a', 'b', 'c'}) executor.post([&order, c] { order += c; });
        CHECK(loop.run() == 1);
        CHECK(order == "(abc)");
        CHECK(loop.is_stopped());
    }
}

TEST_CASE("stop ends a run inside of a run, and both") {
    for (const int hint : all_hints) {
        loop_context loop(hint);
        const auto executor = loop.get_executor();
        int after = 0;
        executor.post([&] {
            executor.post([&] { loop.stop(); });
            CHECK(loop.run() == 2);
            ++after;
        });
        executor.post([&] { ++after; });
        CHECK(loop.run() == 1);
        CHECK(after == 2);
    }
}

// ---- waiting

TEST_CASE("A task that waits for a result blocks its thread, and others bring the result") {
    for (const int hint : all_hints) {
        loop_context loop(hint);
        const auto executor = loop.get_executor();
        ekiden::promise<int> source;
        auto awaited = source.get_future();
        std::string order;
        executor.post([&] {
            std::thread elsewhere([&] { source.set_value(3); });
            CHECK(awaited.get() == 3);
            order += 'a';
            elsewhere.join();
        });
        executor.post([&] { order += 'b'; });
        CHECK(loop.run() == 2);
        CHECK(order == "ab");
    }
}

TEST_CASE("submit gives a future, which reports so if the context drops the task") {
    for (const int hint : all_hints) {
        ekiden::future<int> dropped;
        {
            loop_context loop(hint);
            auto result = loop.get_executor().submit([](int a) { return a + 1; }, 4);
            auto failed = loop.get_executor().submit([] { throw 1; });
            CHECK(loop.run() == 2);
            CHECK(result.get() == 5);
            CHECK_THROWS_AS(failed.get(), int);
            dropped = loop.get_executor().submit([] { return 1; });
        }
        CHECK_THROWS_AS(dropped.get(), std::system_error);
    }
}

// ---- arguments

TEST_CASE("A hint below 1 is refused, and any other accepted") {
    CHECK_THROWS_WITH_AS(loop_context(0),
                         "loop_context: concurrency_hint is 0, allowed is 1 or more, and loop_context::many",
                         std::invalid_argument);
    CHECK_THROWS_AS(loop_context(-3), std::invalid_argument);
    loop_context large(1'000'000);
    CHECK(large.run() == 0);
}

TEST_CASE("Executors are equal if their context is the same, and fit into any_executor") {
    for (const int hint : all_hints) {
        loop_context one(hint);
        loop_context other(hint);
        CHECK(one.get_executor() == one.get_executor());
        CHECK(one.get_executor() != other.get_executor());
        CHECK(&one.get_executor().context() == &one);
        const ekiden::any_executor any = one.get_executor();
        int ran = 0;
        any.post([&] {
            ++ran;
            any.dispatch([&] { ++ran; });
            CHECK(ran == 2);
            any.defer([&] { ++ran; });
        });
        CHECK(one.run() == 2);
        CHECK(ran == 3);
    }
}

TEST_CASE("An empty function is refused, and nothing is posted") {
    for (const int hint : all_hints) {
        loop_context loop(hint);
        CHECK_THROWS_AS(loop.get_executor().post(std::function<void()>()), std::invalid_argument);
        CHECK(loop.run() == 0);
    }
}

// The end of contexts, threads and processes.
#include <ekiden/future/promise.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/blocking_region.hpp>
#include <ekiden/pool/thread_pool.hpp>

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
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using ekiden::loop_context;
using namespace std::chrono_literals;

namespace {

constexpr int few_hints[] = {1, 2};

/// Posts to a context when it is destroyed, to be destroyed there in its turn.
struct posts_at_its_end {
    loop_context* loop;
    std::string* log;
    int rest;
    bool is_owner = true;

    posts_at_its_end(loop_context* where, std::string* text, int more) : loop(where), log(text), rest(more) {}
    posts_at_its_end(posts_at_its_end&& other) noexcept
        : loop(other.loop), log(other.log), rest(other.rest), is_owner(std::exchange(other.is_owner, false)) {
    }
    ~posts_at_its_end() {
        if (!is_owner) return;
        *log += 'd';
        if (rest != 0) {
            const bool accepted = loop->get_executor().post(posts_at_its_end(loop, log, rest - 1));
            *log += accepted ? '+' : '-';
        }
    }
    void operator()() const { *log += "RAN"; }
};

std::string* life = nullptr;

class noted_service final : public ekiden::execution_context::service {
public:
    explicit noted_service(ekiden::execution_context& owner) : service(owner) {}
    ~noted_service() override { *life += 'e'; }

private:
    void shutdown() noexcept override { *life += 's'; }
};

} // namespace

TEST_CASE("The end of a context shuts services down, then destroys the tasks without running them") {
    for (const int hint : few_hints) {
        std::string steps;
        life = &steps;
        {
            loop_context loop(hint);
            (void)use_service<noted_service>(loop);
            auto task = std::shared_ptr<void>(nullptr, [&](void*) { steps += 't'; });
            loop.get_executor().post([task = std::move(task)] { *life += "RAN"; });
        }
        CHECK(steps == "ste");
    }
}

TEST_CASE("What a task posts at its end is refused and destroyed, when the context ends") {
    for (const int hint : few_hints) {
        std::string log;
        {
            loop_context loop(hint);
            loop.get_executor().post(posts_at_its_end(&loop, &log, 2));
        }
        CHECK(log == "ddd--");
    }
}

TEST_CASE("A context ends with many tasks, also with those that run_one has left") {
    for (const int hint : few_hints) {
        auto token = std::make_shared<int>(0);
        {
            loop_context loop(hint);
            for (int i = 0; i != 1000; ++i) {
                if (i == 500) { // of another thread
                    std::thread([&] {
                        for (int k = 0; k != 100; ++k) loop.get_executor().post([token] { ++*token; });
                    }).join();
                }
                loop.get_executor().post([token] { ++*token; });
            }
            for (int i = 0; i != 10; ++i) CHECK(loop.run_one() == 1);
            if (hint != 1) std::thread([&] { CHECK(loop.run_one() == 1); }).join();
        }
        CHECK(*token == (hint == 1 ? 10 : 11));
        CHECK(token.use_count() == 1);
    }
}

TEST_CASE("A context may end as soon as the effect of its last task is seen, though post has not returned") {
    for (const int hint : few_hints) {
        for (int round = 0; round != ekiden_test::rounds(2000); ++round) {
            auto loop = std::make_unique<loop_context>(hint);
            loop->get_executor().on_work_started();
            bool has_run = false;
            std::thread posting([&, executor = loop->get_executor()] {
                executor.post([&has_run] { has_run = true; });
                executor.on_work_finished();
            });
            CHECK(loop->run() == 1);
            CHECK(has_run);
            loop.reset();
            posting.join();
        }
    }
}

TEST_CASE("A context may end as soon as the work that it waits for has ended, or a stop has been seen") {
    for (const int hint : few_hints) {
        for (int round = 0; round != ekiden_test::rounds(2000); ++round) {
            auto loop = std::make_unique<loop_context>(hint);
            const auto executor = loop->get_executor();
            executor.on_work_started();
            const bool stops = round % 2 == 0;
            std::thread elsewhere([&, context = loop.get()] {
                if (stops)
                    context->stop();
                else
                    executor.on_work_finished();
            });
            CHECK(loop->run() == 0);
            loop.reset();
            elsewhere.join();
        }
    }
}

TEST_CASE("A service may be used by tasks of several threads") {
    std::string steps;
    life = &steps;
    {
        loop_context loop(2);
        for (int i = 0; i != 10; ++i)
            loop.get_executor().post([&] { (void)use_service<noted_service>(loop); });
        std::thread other([&] { (void)loop.run(); });
        (void)loop.run();
        other.join();
        CHECK(has_service<noted_service>(loop));
    }
    // Two threads may have made one at the same time: then the second was dropped.
    CHECK((steps == "se" || steps == "ese"));
}

// ---- misuse

TEST_CASE("A second thread inside a context with the hint 1 ends the program") {
    const auto child = ekiden_test::run_in_child([] {
        loop_context loop(1);
        loop.get_executor().on_work_started();
        std::latch inside(1);
        loop.get_executor().post([&] { inside.count_down(); });
        std::thread first([&] { (void)loop.run(); });
        inside.wait();
        (void)loop.run_one();
        first.join();
    });
    CHECK(child.signal == SIGABRT);
    CHECK(child.error_output
          == "ekiden: two threads at once run a loop_context with the concurrency hint 1\n");
}

// ---- threads

namespace {

struct late_poster {
    static inline loop_context* target = nullptr;
    static inline std::atomic<int> ran{0};
    static inline std::atomic<int> accepted{0};
    bool is_used = false;

    ~late_poster() {
        if (!is_used) return;
        CHECK_FALSE(target->running_in_this_thread());
        target->get_executor().dispatch([] { ran.fetch_add(1); });
        for (int i = 0; i != 5; ++i) {
            if (target->get_executor().post([] { ran.fetch_add(1); })) accepted.fetch_add(1);
        }
        target->get_executor().on_work_finished();
    }
};
thread_local late_poster poster; // not in a function: there only the thread that passes by would end it

} // namespace

TEST_CASE("What threads post in destructors of thread_local objects is run, once") {
    EKIDEN_SKIP_WITH_GCC_ON_WINDOWS("frees thread_local objects before it destroys them");
    for (const int hint : few_hints) {
        loop_context loop(hint);
        late_poster::target = &loop;
        late_poster::ran = late_poster::accepted = 0;
        std::vector<std::thread> threads;
        for (int i = 0; i != 4; ++i) {
            loop.get_executor().on_work_started();
            threads.emplace_back([&] {
                loop.get_executor().post([] { late_poster::ran.fetch_add(1); });
                poster.is_used = true;
            });
        }
        CHECK(loop.run() == 4 + 4 * 6);
        for (std::thread& t : threads) t.join();
        CHECK(late_poster::accepted.load() == 4 * 5);
        CHECK(late_poster::ran.load() == 4 + 4 * 6);
    }
}

TEST_CASE(
    "A worker of a pool that runs a loop counts as blocked while the loop waits, and while its task does") {
    for (const int hint : few_hints) {
        ekiden::thread_pool pool({.threads = 1, .max_threads = 2, .watch_interval = 0ms});
        loop_context loop(hint);
        loop.get_executor().on_work_started();
        ekiden::promise<int> source;
        auto awaited = source.get_future();
        std::atomic<bool> has_begun{false};
        pool.post([&] { CHECK(loop.run() == 1); });
        pool.post([&] { // by the second worker
            loop.get_executor().post([&] {
                has_begun = true;
                CHECK(awaited.get() == 4);
            });
            while (!has_begun.load()) std::this_thread::yield();
        });
        while (!has_begun.load()) std::this_thread::yield();
        pool.post([&] {
            source.set_value(4);
            loop.get_executor().on_work_finished();
        });
        pool.wait_idle();
        CHECK(pool.metrics().peak_threads == 2);
    }
}

// ---- fork

TEST_CASE("In the child of a fork a context takes and runs nothing, and does not hang") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    for (const int hint : few_hints) {
        loop_context loop(hint);
        const auto executor = loop.get_executor();
        executor.on_work_started();
        std::atomic<bool> ends{false};
        std::thread posting([&] {
            while (!ends.load()) executor.post([] {});
        });
        std::thread running([&] { (void)loop.run(); });
        for (int round = 0; round != 5; ++round) {
            const auto child = ekiden_test::run_in_child([&] {
                const auto is_refused = [](auto f) {
                    try {
                        f();
                        return false;
                    } catch (const std::system_error& refusal) {
                        return refusal.code() == std::errc::operation_not_permitted;
                    }
                };
                auto token = std::make_shared<int>(0);
                bool is_right = is_refused([&] { executor.post([token] {}); });
                is_right = is_right && token.use_count() == 1;
                is_right = is_right && is_refused([&] { (void)loop.run(); });
                is_right = is_right && is_refused([&] { (void)loop.poll_one(); });
                is_right = is_right && is_refused([&] { (void)loop.run_for(1ms); });
                loop.stop();
                loop.restart();
                executor.on_work_started();
                executor.on_work_finished();
                {
                    loop_context fresh(hint);
                    int ran = 0;
                    fresh.get_executor().post([&] { ++ran; });
                    is_right = is_right && fresh.run() == 1 && ran == 1;
                }
                loop.~loop_context();
                std::_Exit(is_right ? 0 : 1);
            });
            CHECK(child.exit_code == 0);
            CHECK(child.signal == 0);
        }
        ends = true;
        posting.join();
        executor.on_work_finished();
        running.join();
    }
}

TEST_CASE("A task that forks goes on in the parent, and must not return in the child") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    for (const int hint : few_hints) {
        const auto child = ekiden_test::run_in_child([hint] {
            loop_context loop(hint);
            loop.get_executor().post([] {
                if (::fork() != 0) std::_Exit(3); // the child goes on, with the pipe
            });
            (void)loop.run();
        });
        CHECK(child.exit_code == 3);
        CHECK(child.error_output.find("a task that called fork() has returned in the child, where its loop")
              != std::string::npos);
    }
}

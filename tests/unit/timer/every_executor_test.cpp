// Properties that hold for every executor of the library, and for everything on top of executors: strands,
// lanes, timers, continued futures, type-erased executors. Tests all combinations that a program could build.
#include "../execution/user_executor.hpp"

#include <ekiden/execution/any_executor.hpp>
#include <ekiden/execution/bind_allocator.hpp>
#include <ekiden/execution/bind_executor.hpp>
#include <ekiden/execution/defer.hpp>
#include <ekiden/execution/dispatch.hpp>
#include <ekiden/execution/post.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/execution/then.hpp>
#include <ekiden/execution/use_future.hpp>
#include <ekiden/execution/work_guard.hpp>
#include <ekiden/future/promise.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <concepts>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

// A context, and how a test makes it run all of its tasks.
struct on_pool {
    using context_type = ekiden::thread_pool;
    using executor = ekiden::thread_pool::executor_type;
    executor get() { return context->get_executor(); }
    void run() { context->wait_idle(); }
    void end() {
        context->stop();
        context.reset();
    }
    std::optional<ekiden::thread_pool> context{std::in_place, 2};
};
template <int hint>
struct on_loop {
    using context_type = ekiden::loop_context;
    using executor = ekiden::loop_context::executor_type;
    executor get() { return context->get_executor(); }
    void run() {
        context->restart();
        context->run();
    }
    void end() { context.reset(); }
    std::optional<ekiden::loop_context> context{std::in_place, hint};
};
struct on_users_own {
    using context_type = users_context;
    using executor = users_context::executor_type;
    executor get() { return context->get_executor(); }
    void run() { context->run(); }
    void end() { context.reset(); }
    std::optional<users_context> context{std::in_place};
};

template <class Rig>
struct on_strand : Rig {
    using executor = ekiden::strand<typename Rig::executor>;
    executor get() { return own; }
    executor own{Rig::get()};
};
template <class Rig>
struct on_lane : Rig {
    using lanes = ekiden::lanes<std::string, typename Rig::executor>;
    using executor = typename lanes::executor_type;
    executor get() { return own.get_executor("a key that is longer than a small string"); }
    lanes own{Rig::get()};
};
template <class Rig>
struct erased : Rig {
    using executor = ekiden::any_executor;
    executor get() { return Rig::get(); }
};

// Counts its destruction, once.
struct witness {
    explicit witness(std::atomic<int>& count) : ends(&count) {}
    witness(witness&& other) noexcept : ends(std::exchange(other.ends, nullptr)) {}
    witness& operator=(witness&&) = delete;
    ~witness() {
        if (ends != nullptr) ++*ends;
    }
    std::atomic<int>* ends;
};

} // namespace

#define EVERY_EXECUTOR                                                                                       \
    on_pool, on_loop<1>, on_loop<8>, on_users_own, on_strand<on_pool>, on_strand<on_loop<8>>,                \
        on_strand<on_users_own>, on_strand<on_strand<on_loop<1>>>, on_lane<on_pool>, on_lane<on_users_own>,  \
        on_strand<on_lane<on_pool>>, erased<on_lane<on_loop<1>>>, on_lane<erased<on_strand<on_pool>>>

TEST_CASE_TEMPLATE("post and defer come later, dispatch at once inside", Rig, EVERY_EXECUTOR) {
    Rig rig;
    const auto where = rig.get();
    static_assert(ekiden::executor<typename Rig::executor>);
    CHECK(where == rig.get());
    std::string order;
    const auto note = [&order](char c) { return [&order, c] { order += c; }; };
    std::atomic<bool> has_ended{false};
    ekiden::post(where, [&] {
        std::string inner;
        ekiden::dispatch(where, [&inner] { inner += 'b'; });
        inner += 'c';
        order += inner;
        has_ended = true;
    });
    rig.run();
    CHECK(has_ended);
    CHECK(order == "bc");
    ekiden::post(where, note('d'));
    rig.run();
    ekiden::defer(where, note('e'));
    rig.run();
    ekiden::dispatch(where, note('f'));
    rig.run();
    CHECK(order == "bcdef");
}

TEST_CASE_TEMPLATE("each copy of a handler ends once, run, refused or dropped", Rig, EVERY_EXECUTOR) {
    std::atomic<int> ends{0};
    std::atomic<int> runs{0};
    {
        Rig rig;
        const auto where = rig.get();
        for (int i = 0; i < 100; ++i) ekiden::post(where, [w = witness(ends), &runs] { ++runs; });
        rig.run();
        CHECK(runs == 100);
        CHECK(ends == 100);
        // It is destroyed with the context, or posts again.
        ekiden::post(where,
                     [w = witness(ends), where, &ends] { ekiden::post(where, [v = witness(ends)] {}); });
        rig.end();
    }
    CHECK(ends >= 101);
    CHECK(ends <= 102);
}

TEST_CASE_TEMPLATE("a future of a function there, and what it throws", Rig, EVERY_EXECUTOR) {
    Rig rig;
    const auto where = rig.get();
    auto value = ekiden::post(where, ekiden::use_future([] { return 7; }));
    auto error = ekiden::post(where, ekiden::use_future([]() -> int { throw std::runtime_error("x"); }));
    rig.run();
    CHECK(value.get() == 7);
    CHECK_THROWS_AS(error.get(), std::runtime_error);
    auto dropped = ekiden::post(where, ekiden::use_future([p = std::make_unique<int>(1)] { return *p; }));
    rig.end();
    bool is_broken = false;
    int given = 1; // a pool may have run it before the end
    try {
        given = dropped.get();
    } catch (const std::future_error&) {
        is_broken = true;
    }
    CHECK(given == 1);
    if (!std::same_as<typename Rig::context_type, ekiden::thread_pool>) CHECK(is_broken);
}

TEST_CASE_TEMPLATE("a timer there: expired, canceled, canceled when queued, ended", Rig, EVERY_EXECUTOR) {
    Rig rig;
    const auto where = rig.get();
    std::atomic<int> expired{0};
    std::atomic<int> canceled{0};
    const auto count = [&](std::error_code error) {
        ++(error == std::errc::operation_canceled ? canceled : expired);
    };
    const auto run_until = [&](int calls) {
        while (expired + canceled < calls) {
            rig.run();
            std::this_thread::yield();
        }
    };
    {
        ekiden::basic_waitable_timer<std::chrono::steady_clock, typename Rig::executor> timer(where, 1ms);
        timer.async_wait(count);
        run_until(1);
        CHECK(expired == 1);
        timer.expires_after(std::chrono::hours(1));
        timer.async_wait(count);
        timer.async_wait(count);
        CHECK(timer.cancel() == 2);
        run_until(3);
        timer.expires_after(-1s);
        timer.async_wait(count);
        const std::size_t caught = timer.cancel(); // a pool may have begun it
        run_until(4);
        CHECK(canceled == 2 + static_cast<int>(caught));
        timer.expires_after(std::chrono::hours(1));
        timer.async_wait(count);
    }
    run_until(5);
    CHECK(expired + canceled == 5);
}

TEST_CASE_TEMPLATE("a timer's wait goes with the context that it was on", Rig, EVERY_EXECUTOR) {
    std::atomic<int> ends{0};
    {
        Rig rig;
        ekiden::steady_timer timer(rig.get(), std::chrono::hours(1));
        timer.async_wait([w = witness(ends)](std::error_code) {});
        {
            const ekiden::steady_timer moved(std::move(timer));
        } // canceled, whether it was queued or not
        ekiden::steady_timer other(rig.get(), std::chrono::hours(1));
        other.async_wait([w = witness(ends)](std::error_code) {});
        rig.end();
        CHECK(ends == 2);
    }
}

TEST_CASE_TEMPLATE("futures go on there", Rig, EVERY_EXECUTOR) {
    Rig rig;
    ekiden::promise<int> promise;
    auto doubled = promise.get_future().then(rig.get(), [](int i) { return 2 * i; });
    promise.set_value(4);
    rig.run();
    CHECK(doubled.get() == 8);
}

TEST_CASE_TEMPLATE("work is counted, and given up with the handler", Rig, on_loop<1>, on_loop<8>,
                   on_strand<on_loop<1>>, on_lane<on_loop<8>>, erased<on_strand<on_loop<8>>>) {
    Rig rig;
    bool was_run = false;
    {
        auto guard = ekiden::make_work_guard(rig.get());
        rig.context->restart();
        CHECK(rig.context->poll() == 0);
        CHECK(!rig.context->is_stopped());
        ekiden::thread_pool pool(1);
        pool.pause();
        // The task on the pool would post back to this context. It is dropped instead, together with the work
        // that it represents.
        ekiden::post(pool, ekiden::bind_executor(rig.get(), [&] { was_run = true; }));
        guard.reset();
        CHECK(rig.context->poll() == 0);
        CHECK(!rig.context->is_stopped());
        pool.stop();
        pool.join();
    }
    CHECK(rig.context->run() == 0);
    CHECK(rig.context->is_stopped());
    CHECK(!was_run);
}

TEST_CASE_TEMPLATE("an order is kept, whoever posts, and each task is visible to the next", Rig,
                   on_strand<on_pool>, on_strand<on_loop<8>>, on_strand<on_strand<on_pool>>, on_lane<on_pool>,
                   on_lane<on_strand<on_loop<8>>>, on_strand<on_lane<on_pool>>,
                   on_strand<erased<on_strand<on_pool>>>, on_loop<1>) {
    Rig rig;
    const auto where = rig.get();
    constexpr int posters = 3;
    constexpr int posts = 500;
    std::vector<int> seen(posters, 0); // no atomics, because the executor orders them
    bool is_inside = false;
    bool is_wrong = false;
    std::vector<std::thread> threads;
    for (int p = 0; p < posters; ++p) {
        threads.emplace_back([&, p] {
            for (int i = 0; i < posts; ++i) {
                ekiden::post(where, [&, p, i] {
                    is_wrong |= is_inside || seen[static_cast<std::size_t>(p)] != i;
                    is_inside = true;
                    seen[static_cast<std::size_t>(p)] = i + 1;
                    is_inside = false;
                });
            }
        });
    }
    for (std::thread& t : threads) t.join();
    rig.run();
    CHECK(!is_wrong);
    CHECK(seen == std::vector<int>(posters, posts));
}

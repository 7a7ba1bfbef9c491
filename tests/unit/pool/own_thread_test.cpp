// A context that one of its own threads destroys stops the program, and says what has done that.
#include "../child_process.hpp"
#include <tests/unit/posix.hpp>

#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/coroutine.hpp>
#include <ekiden/execution/detached.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/loop/loop_pool.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <atomic>
#include <chrono>
#include <doctest/doctest.h>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace {

using namespace ekiden;
using namespace std::chrono_literals;

/// Has the last reference to a context, and gives it up when it is called or destroyed.
template <class Context>
struct last_owner {
    std::shared_ptr<Context> context;
    std::latch* others_have_gone;

    void operator()() {
        others_have_gone->wait();
        context.reset();
    }
};

/// What a thread keeps until its end, as the last one.
struct kept_by_thread {
    std::shared_ptr<void> context;
    ~kept_by_thread() {
        while (context.use_count() > 1) std::this_thread::yield();
    }
};
thread_local kept_by_thread kept; // not in a function: there only the thread that passes by would end it

/// What the child says that runs `body` until its end, which must come by a broken contract.
template <class F>
std::string last_words(F&& body) {
    const auto child = ekiden_test::run_in_child([&] {
        body();
        for (;;) ::pause();
    });
    CHECK(child.signal == SIGABRT);
    return child.error_output;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// The end of each of these messages.
constexpr const char* advice =
    "give it an owner outside of its threads, or call stop() there and let the owner wait for its end\n";

} // namespace

TEST_CASE("A pool that its own task destroys stops the program, and the task's type is named") {
    const std::string text = last_words([] {
        auto pool = std::make_shared<thread_pool>(1);
        std::latch gone(1);
        pool->post(last_owner<thread_pool>{pool, &gone});
        pool.reset();
        gone.count_down();
        for (;;) ::pause();
    });
    CHECK(has(text, "ekiden: a thread_pool is destroyed in one of its own threads, by a task of type "));
    CHECK(has(text, "last_owner<"));
    CHECK(has(text, advice));
}

TEST_CASE("A pool that a task destroys which it drops itself stops the program, and that task is named") {
    const std::string text = last_words([] {
        auto pool = std::make_shared<thread_pool>(1);
        std::latch gone(1);
        pool->post([&gone] { gone.wait(); });
        pool->post(last_owner<thread_pool>{pool, nullptr});
        pool->stop();
        pool.reset();
        gone.count_down();
        for (;;) ::pause();
    });
    CHECK(has(text, "by a task of type "));
    CHECK(has(text, "last_owner<"));
}

TEST_CASE("A pool that a thread_local object of its worker destroys stops the program with a message") {
    EKIDEN_SKIP_WITH_GCC_ON_WINDOWS("frees thread_local objects before it destroys them");
    for (const bool is_surplus : {false, true}) {
        const std::string text = last_words([is_surplus] {
            auto pool = std::make_shared<thread_pool>(
                thread_pool_options{.threads = 1, .max_threads = is_surplus ? 2U : 1U, .keep_alive = 0ms});
            pool->submit([pool] { kept.context = pool; }).get();
            pool->stop();
            pool.reset();
            for (;;) ::pause();
        });
        CHECK(has(text,
                  "ekiden: a thread_pool is destroyed in one of its own threads, by the destructor of a "
                  "thread_local object; "));
        CHECK(has(text, advice));
    }
}

TEST_CASE("A pool that its handler of exceptions destroys stops the program, and the option is named") {
    const std::string text = last_words([] {
        static std::shared_ptr<thread_pool> pool;
        pool = std::make_shared<thread_pool>(thread_pool_options{
            .threads = 1,
            .on_unhandled_exception = [](std::exception_ptr, std::string_view) { pool.reset(); }});
        pool->post([] { throw std::runtime_error("lost"); });
        for (;;) ::pause();
    });
    CHECK(has(text, "in its function on_unhandled_exception, called for a task of type "));
    CHECK(has(text, "lambda"));
}

TEST_CASE("A pool that its watch destroys stops the program, and the option is named") {
    EKIDEN_SKIP_ON_WINDOWS("the system does not tell that a thread sleeps");
    const std::string text = last_words([] {
        static std::shared_ptr<thread_pool> pool;
        pool = std::make_shared<thread_pool>(thread_pool_options{
            .threads = 1, .watch_interval = 1ms, .on_stall = [](const stall_report&) { pool.reset(); }});
        for (int i = 0; i != 2; ++i) pool->post([] { ::pause(); });
        for (;;) ::pause();
    });
    CHECK(has(text, "a thread_pool is destroyed in one of its own threads, in its function on_stall; "));
}

TEST_CASE("A pool that the frame of a coroutine destroys stops the program with a message") {
    const std::string text = last_words([] {
        auto pool = std::make_shared<thread_pool>(1);
        std::latch gone(1);
        const auto executor = pool->get_executor();
        co_spawn(
            executor,
            [](std::shared_ptr<thread_pool>, std::latch& others) -> coroutine<void> {
                others.wait();
                co_return;
            }(std::move(pool), gone),
            detached);
        gone.count_down();
        for (;;) ::pause();
    });
    CHECK(has(text, "a thread_pool is destroyed in one of its own threads, by a coroutine, or the end of its "
                    "frame; "));
}

TEST_CASE("std::exit in a task of a static pool stops the program with a message") {
    const std::string text = last_words([] {
        static thread_pool pool({.threads = 2});
        pool.post([] { std::exit(7); });
        for (;;) ::pause();
    });
    CHECK(has(text, "a thread_pool is destroyed in one of its own threads, by a task of type "));
}

TEST_CASE("A loop that its own task destroys stops the program, and the task's type is named") {
    for (const int hint : {1, loop_context::many}) {
        const std::string text = last_words([hint] {
            auto loop = std::make_shared<loop_context>(hint);
            std::latch gone(0);
            loop_context& running = *loop;
            loop->get_executor().post(last_owner<loop_context>{std::move(loop), &gone});
            (void)running.run();
        });
        CHECK(has(text, "ekiden: a loop_context is destroyed in one of its own threads, by a task of type "));
        CHECK(has(text, "last_owner<"));
        CHECK(has(text, advice));
    }
}

TEST_CASE("A loop pool that its own task destroys stops the program, and the task's type is named") {
    const std::string text = last_words([] {
        auto pool = std::make_shared<loop_pool>(loop_pool_options{.threads = 2});
        std::latch gone(1);
        pool->get_executor(1).post(last_owner<loop_pool>{pool, &gone});
        pool.reset();
        gone.count_down();
        for (;;) ::pause();
    });
    CHECK(has(text, "ekiden: a loop_pool is destroyed in one of its own threads, by a task of type "));
    CHECK(has(text, "last_owner<"));
    CHECK(has(text, advice));
}

TEST_CASE("A loop pool that a thread_local object of its thread destroys stops the program with a message") {
    EKIDEN_SKIP_WITH_GCC_ON_WINDOWS("frees thread_local objects before it destroys them");
    const std::string text = last_words([] {
        auto pool = std::make_shared<loop_pool>(loop_pool_options{.threads = 1});
        pool->get_executor(0).submit([pool] { kept.context = pool; }).get();
        pool->stop();
        pool.reset();
        for (;;) ::pause();
    });
    CHECK(has(text, "a loop_pool is destroyed in one of its own threads, by the destructor of a thread_local "
                    "object; "));
}

namespace {

/// Calls back when its thread ends.
struct at_thread_end {
    std::function<void()> call;
    ~at_thread_end() {
        if (call) call();
    }
};
thread_local at_thread_end last_call;

template <class Pool>
std::error_code code_of_join(Pool& pool) {
    try {
        pool.join();
        return {};
    } catch (const std::system_error& error) {
        return error.code();
    }
}

} // namespace

TEST_CASE("At the end of its threads a pool may be stopped, and join is refused") {
    EKIDEN_SKIP_WITH_GCC_ON_WINDOWS("frees thread_local objects before it destroys them");
    std::error_code of_pool;
    std::error_code of_loops;
    {
        thread_pool pool(1);
        pool.submit([&] {
                last_call.call = [&] {
                    pool.stop();
                    of_pool = code_of_join(pool);
                };
            })
            .get();
    }
    {
        loop_pool loops({.threads = 1});
        loops.get_executor(0)
            .submit([&] {
                last_call.call = [&] {
                    loops.stop();
                    of_loops = code_of_join(loops);
                };
            })
            .get();
    }
    CHECK(of_pool == std::errc::resource_deadlock_would_occur);
    CHECK(of_loops == std::errc::resource_deadlock_would_occur);
}

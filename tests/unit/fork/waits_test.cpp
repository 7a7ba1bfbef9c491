// Each form of task_group::wait(): success, time-out, and a stop request before and during the wait. And
// which exceptions the wait throws and suppresses.
#include <ekiden/fork/parallel_for.hpp>
#include <ekiden/fork/task_group.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/wait_limit.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using ekiden::on_error;
using ekiden::suppressed_exceptions;
using ekiden::task_group;
using ekiden::wait_limit;
using namespace std::chrono_literals;
using std::chrono::steady_clock;
using std::chrono::system_clock;

namespace {

/// A group with one task, which runs until it is released.
struct busy_group {
    ekiden::thread_pool pool{{.threads = 2}};
    ekiden::event begun;
    ekiden::event may_end;
    task_group group{pool};

    busy_group() {
        group.spawn([this] {
            begun.set();
            may_end.wait();
            throw std::runtime_error("the task");
        });
        begun.wait();
    }

    /// After a wait that gave up: the group is as before.
    void check_usable() {
        CHECK_FALSE(group.stop_requested());
        bool has_run = false;
        group.spawn([&has_run] { has_run = true; });
        may_end.set();
        CHECK_THROWS_WITH_AS(group.wait(), "the task", std::runtime_error);
        CHECK(has_run);
    }
};

/// Each form with a limit, in which `stop` is the token and `time` the duration.
template <class Call>
void each_form_with_a_stop(std::stop_token stop, Call call) {
    call([stop](task_group& group) { return group.wait(stop); });
    call([stop](task_group& group) { return group.wait(wait_limit(stop)); });
    call([stop](task_group& group) { return group.wait(wait_limit::after(1h).with(stop)); });
}
template <class Call>
void each_form_with_a_time(std::chrono::milliseconds time, Call call) {
    call([time](task_group& group) { return group.wait_for(time); });
    call([time](task_group& group) { return group.wait_until(steady_clock::now() + time); });
    call([time](task_group& group) { return group.wait_until(system_clock::now() + time); });
    call([time](task_group& group) { return group.wait(wait_limit::after(time)); });
    const std::stop_source never;
    call([time, stop = never.get_token()](task_group& group) {
        return group.wait(wait_limit::until(system_clock::now() + time).with(stop));
    });
}
template <class Call>
void each_form(Call call) {
    call([](task_group& group) { return group.wait(), true; });
    call([](task_group& group) { return group.wait(wait_limit()); });
    const std::stop_source never;
    each_form_with_a_stop(never.get_token(), call);
    each_form_with_a_time(1h, call);
}

std::string text_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        return e.what();
    }
}

} // namespace

TEST_CASE("each form of task_group::wait returns true when all tasks have ended") {
    ekiden::thread_pool pool({.threads = 2});
    task_group group(pool);
    each_form([&group](auto wait) {
        CHECK(wait(group)); // no task
        for (int round = 0; round != 20; ++round) {
            std::atomic<int> calls = 0;
            for (int i = 0; i != 5; ++i) group.spawn([&calls] { ++calls; });
            CHECK(wait(group));
            CHECK(calls == 5);
        }
    });
}

TEST_CASE("each form of task_group::wait throws what a task has thrown") {
    ekiden::thread_pool pool({.threads = 2});
    task_group group(pool);
    each_form([&group](auto wait) {
        group.spawn([] { throw std::runtime_error("the task"); });
        CHECK_THROWS_WITH_AS((void)wait(group), "the task", std::runtime_error);
        CHECK(wait(group));
    });
}

TEST_CASE("a task_group::wait that times out leaves the tasks running and the group usable") {
    for (const auto time : {-1ms, 0ms, 2ms}) {
        each_form_with_a_time(time, [](auto wait) {
            busy_group busy;
            CHECK_FALSE(wait(busy.group));
            CHECK_FALSE(wait(busy.group));
            busy.check_usable();
        });
    }
    busy_group busy;
    CHECK_FALSE(busy.group.wait_for(std::chrono::hours::min()));
    CHECK_FALSE(busy.group.wait_until(steady_clock::time_point::min()));
    busy.check_usable();
}

TEST_CASE("a task_group::wait whose stop was requested before the call gives up at once") {
    std::stop_source source;
    source.request_stop();
    each_form_with_a_stop(source.get_token(), [](auto wait) {
        busy_group busy;
        CHECK_FALSE(wait(busy.group));
        busy.check_usable();
    });
}

TEST_CASE("a task_group::wait whose limit is reached returns true if no task is left") {
    ekiden::thread_pool pool({.threads = 1});
    task_group group(pool);
    std::stop_source source;
    source.request_stop();
    each_form_with_a_stop(source.get_token(), [&group](auto wait) { CHECK(wait(group)); });
    each_form_with_a_time(0ms, [&group](auto wait) { CHECK(wait(group)); });
}

TEST_CASE("a stop request during a task_group::wait ends the wait, and not the tasks") {
    for (int round = 0; round != 20; ++round) {
        std::stop_source source;
        busy_group busy;
        std::thread stopper([&source, round] {
            const auto end = std::chrono::steady_clock::now() + round * 50us;
            while (std::chrono::steady_clock::now() < end)
                std::this_thread::yield(); // also while the wait sleeps
            source.request_stop();
        });
        CHECK_FALSE(busy.group.wait(source.get_token()));
        stopper.join();
        busy.check_usable();
    }
    std::stop_source source;
    busy_group busy;
    std::thread stopper([&source] { source.request_stop(); });
    CHECK_FALSE(busy.group.wait(wait_limit::after(1h).with(source.get_token())));
    stopper.join();
    busy.check_usable();
}

TEST_CASE("a task of the group may stop the wait for it") {
    ekiden::thread_pool pool({.threads = 1});
    task_group group(pool);
    ekiden::event may_end;
    std::stop_source source;
    group.spawn([&] {
        source.request_stop();
        may_end.wait();
    });
    CHECK_FALSE(group.wait(source.get_token()));
    may_end.set();
    group.wait();
}

TEST_CASE("a worker that waits for a task_group with a limit gives up, too") {
    ekiden::thread_pool pool({.threads = 1});
    const auto gives_up = [](auto wait) {
        busy_group busy;
        if (wait(busy.group)) return false;
        busy.check_usable();
        return true;
    };
    CHECK(pool.submit([&] { return gives_up([](task_group& group) { return group.wait_for(2ms); }); }).get());
    CHECK(pool.submit([&] {
                  std::stop_source source;
                  const auto stops = [&source](task_group& group) {
                      std::thread stopper([&source] { source.request_stop(); });
                      const bool is_done = group.wait(source.get_token());
                      stopper.join();
                      return is_done;
                  };
                  return gives_up(stops);
              })
              .get());
}

TEST_CASE("a worker that waits for a task_group with a limit that is never reached runs its tasks") {
    ekiden::thread_pool pool({.threads = 1});
    const auto run = [&pool](auto wait) {
        task_group group(pool);
        bool has_run = false;
        group.spawn([&has_run] { has_run = true; }); // no other worker runs it
        return wait(group) && has_run;
    };
    CHECK(pool.submit([&] { return run([](task_group& group) { return group.wait(wait_limit()); }); }).get());
    CHECK(pool.submit([&] { return run([](task_group& group) { return group.wait(std::stop_token()); }); })
              .get());
}

TEST_CASE("waits of a task_group that give up race with the end of its tasks and lose none") {
    ekiden::thread_pool pool({.threads = 2});
    for (int round = 0; round != 2000; ++round) {
        std::stop_source source;
        std::atomic<int> calls = 0;
        task_group group(pool);
        group.spawn([&calls] { ++calls; });
        group.spawn([&] {
            ++calls;
            source.request_stop();
        });
        const bool is_done = round % 2 == 0 ? group.wait(source.get_token())
                                            : group.wait(wait_limit::after(5us).with(source.get_token()));
        if (is_done) CHECK(calls == 2);
        group.wait();
        REQUIRE(calls == 2);
    }
}

// ---- several exceptions

TEST_CASE("task_group::wait throws the first exception, and suppressed_exceptions has the others in order") {
    ekiden::thread_pool pool({.threads = 1});
    task_group group(pool);
    for (const char* text : {"a", "b", "c"}) group.spawn([text] { throw std::runtime_error(text); });
    CHECK_THROWS_WITH(group.wait(), "a");
    const auto others = suppressed_exceptions();
    REQUIRE(others.size() == 2);
    CHECK(text_of(others[0]) == "b");
    CHECK(text_of(others[1]) == "c");
}

TEST_CASE("the next task_group::wait in the same thread empties the list of suppressed exceptions") {
    ekiden::thread_pool pool({.threads = 2});
    task_group group(pool);
    const auto fail = [&] {
        for (int i = 0; i != 3; ++i) group.spawn([] { throw std::runtime_error("x"); });
        CHECK_THROWS(group.wait());
        CHECK(suppressed_exceptions().size() == 2);
    };
    fail();
    std::thread([&] {
        CHECK(suppressed_exceptions().empty()); // each thread has its own
        fail();
    }).join();
    CHECK(suppressed_exceptions().size() == 2);
    group.wait();
    CHECK(suppressed_exceptions().empty());
    fail();
    ekiden::parallel_for(pool, 0, 10, [](int) {}); // a call of another kind
    CHECK(suppressed_exceptions().empty());
}

TEST_CASE("what a task_group suppresses inside of a parallel_for comes out of the parallel_for") {
    ekiden::thread_pool pool({.threads = 1});
    const auto body = [](int) {
        ekiden::thread_pool other({.threads = 1});
        task_group group(other);
        for (const char* text : {"a", "b"}) group.spawn([text] { throw std::runtime_error(text); });
        group.wait();
    };
    CHECK_THROWS_WITH(ekiden::parallel_for(pool, 0, 1, body), "a");
    REQUIRE(suppressed_exceptions().size() == 1);
    CHECK(text_of(suppressed_exceptions()[0]) == "b");
}

TEST_CASE("a stopped pool's refusal is the last exception of a task_group") {
    ekiden::thread_pool pool({.threads = 1});
    task_group group(pool);
    ekiden::event begun;
    ekiden::event may_end;
    group.spawn([&] {
        begun.set();
        may_end.wait();
        throw std::runtime_error("the task");
    });
    begun.wait();
    pool.stop();
    group.spawn([] {}); // dropped
    may_end.set();
    CHECK_THROWS_WITH(group.wait(), "the task");
    REQUIRE(suppressed_exceptions().size() == 1);
    CHECK_THROWS_AS(std::rethrow_exception(suppressed_exceptions()[0]), std::system_error);
}

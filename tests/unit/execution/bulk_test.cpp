// post_bulk() on executors of all kinds: the task of a bulk posts itself again before each call.
#include "user_executor.hpp"

#include <ekiden/execution/any_executor.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/loop/loop_context.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <numeric>
#include <thread>
#include <vector>

using ekiden::any_executor;
using ekiden::loop_context;
using ekiden::task;
using ekiden::task_order;

namespace {

/// Passes tasks to a loop. It throws or refuses when a number of tasks have been accepted.
class failing_loop_executor : public ekiden::task_sink<failing_loop_executor> {
public:
    struct fault {
        int accepted_before;
        bool throws;
    };
    failing_loop_executor(loop_context& loop, fault& planned) : loop_(&loop), planned_(&planned) {}

    [[nodiscard]] loop_context& context() const noexcept { return *loop_; }
    void on_work_started() const noexcept {}
    void on_work_finished() const noexcept {}
    [[nodiscard]] bool running_in_this_thread() const noexcept { return loop_->running_in_this_thread(); }
    void report_unhandled(const char* type) const noexcept { loop_->get_executor().report_unhandled(type); }
    friend bool operator==(const failing_loop_executor&, const failing_loop_executor&) = default;

private:
    friend struct ekiden::detail::sink_access;

    bool accept(task* given, task_order order) const {
        if (planned_->accepted_before-- != 0) return ekiden::accept_task(loop_->get_executor(), given, order);
        given->abandon();
        if (planned_->throws) throw std::bad_alloc();
        return false;
    }

    loop_context* loop_;
    fault* planned_;
};

} // namespace

TEST_CASE("One thread of a loop makes the calls of a bulk by their numbers") {
    for (const int threads : {1, 2}) { // the hints for the two engines
        loop_context loop(threads);
        std::vector<std::size_t> order;
        CHECK(loop.get_executor().post_bulk(100, [&](std::size_t i) { order.push_back(i); }));
        loop.run();
        std::vector<std::size_t> expected(100);
        std::iota(expected.begin(), expected.end(), std::size_t{0});
        CHECK(order == expected);
    }
}

TEST_CASE("Two threads of a loop make each call of a bulk once, and a call may wait for another") {
    loop_context loop(2);
    std::vector<std::atomic<int>> calls(1000);
    loop.get_executor().post_bulk(calls.size(), [&](std::size_t i) {
        if (i == 0)
            while (calls[1] == 0) std::this_thread::yield();
        ++calls[i];
    });
    std::thread second([&] { loop.run(); });
    loop.run();
    second.join();
    for (auto& c : calls) REQUIRE(c == 1);
}

TEST_CASE("A bulk makes every call if its executor throws at any time") {
    for (int accepted = 1; accepted != 10; ++accepted) {
        loop_context loop;
        failing_loop_executor::fault planned{accepted, true};
        const failing_loop_executor where(loop, planned);
        std::vector<int> calls(10);
        const auto shared = std::make_shared<int>(0);
        CHECK(where.post_bulk(calls.size(), [&calls, shared](std::size_t i) { ++calls[i]; }));
        loop.run();
        CHECK(calls == std::vector<int>(10, 1));
        CHECK(shared.use_count() == 1);
    }
}

TEST_CASE("A bulk abandons the calls that its executor refuses") {
    for (int accepted = 1; accepted != 10; ++accepted) {
        loop_context loop;
        failing_loop_executor::fault planned{accepted, false};
        const failing_loop_executor where(loop, planned);
        int calls = 0;
        const auto shared = std::make_shared<int>(0);
        CHECK(where.post_bulk(10, [&calls, shared] { ++calls; }));
        loop.run();
        CHECK(calls == accepted);
        CHECK(shared.use_count() == 1);
    }
}

TEST_CASE("A bulk that is refused or throws at once makes no call") {
    loop_context loop;
    const auto shared = std::make_shared<int>(0);
    failing_loop_executor::fault planned{0, false};
    CHECK_FALSE(failing_loop_executor(loop, planned).post_bulk(10, [shared] { FAIL("called"); }));
    planned = {0, true};
    CHECK_THROWS_AS(failing_loop_executor(loop, planned).post_bulk(10, [shared] { FAIL("called"); }),
                    std::bad_alloc);
    CHECK(shared.use_count() == 1);
}

TEST_CASE("A bulk on an executor that accepts only functions makes each call once") {
    users_context users;
    const any_executor where(users.get_executor());
    std::vector<std::size_t> order;
    const auto shared = std::make_shared<int>(0);
    where.post_bulk(5, [&order, shared](std::size_t i) { order.push_back(i); });
    CHECK(users.run() == 5);
    CHECK(order == std::vector<std::size_t>{0, 1, 2, 3, 4});
    where.post_bulk(5, [&users, shared](std::size_t) { users.drop_all(); });
    CHECK(users.run() == 1);
    CHECK(shared.use_count() == 1);
}

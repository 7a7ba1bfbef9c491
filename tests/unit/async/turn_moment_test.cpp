// Turns that are withdrawn or dropped at the moment when they would begin.
#include <ekiden/async/async_turn.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/execution/execution_context.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/loop/loop_context.hpp>

#include <doctest/doctest.h>

#include <optional>

using namespace ekiden;

namespace {

/// A context that runs each task inside the post.
struct eager_context : execution_context {
    struct executor : task_sink<executor> {
        explicit executor(eager_context& in) noexcept : in_(&in) {}
        eager_context& context() const noexcept { return *in_; }
        void on_work_started() const noexcept {}
        void on_work_finished() const noexcept {}
        bool accept(task* given, task_order) const {
            given->run();
            return true;
        }
        task* continue_with(task* given) const { return given; }
        bool running_in_this_thread() const noexcept { return true; }
        void report_unhandled(const char*) const noexcept {}
        friend bool operator==(const executor&, const executor&) = default;

    private:
        eager_context* in_;
    };
};

} // namespace

TEST_CASE("a turn that is withdrawn after its lanes have granted it counts as dropped") {
    loop_context loop;
    const lanes<int> accounts(loop.get_executor(), {.shards = 1});
    std::optional<lane_turn> turn;
    CHECK(accounts.post(accounts.keys().write(1), [&] { turn.reset(); }));
    turn = detail::turn_access::make(accounts, accounts.keys().write(2), "a test");
    detail::turn_access::record(*turn).enqueue(false);
    loop.run();
    const auto now = accounts.metrics();
    CHECK(now.posted == 2);
    CHECK(now.run == 1);
    CHECK(now.dropped == 1);
    CHECK(now.active == 0);
}

TEST_CASE(
    "a coroutine whose turn was dropped may wait for another turn, on an executor that runs it at once") {
    loop_context loop;
    eager_context eager;
    const lanes<int> accounts(loop.get_executor(), {.shards = 1});
    bool was_dropped = false;
    bool has_other = false;
    CHECK(accounts.post(accounts.keys().write(1), [&] { (void)accounts.close(2); }));
    co_spawn(eager_context::executor(eager), [&]() -> coroutine<> {
        try {
            const auto turn = co_await async_turn(accounts, 2);
        } catch (const operation_canceled&) {
            was_dropped = true;
        }
        const auto other = co_await async_turn(accounts, 3);
        has_other = true;
    });
    loop.run();
    CHECK(was_dropped);
    CHECK(has_other);
    CHECK(accounts.active() == 0);
}

// Where and how the sender of a coroutine completes.
#include "minimal_senders.hpp"

#define EKIDEN_SENDERS minimal_senders
#define EKIDEN_SENDERS_TOKENS minimal_senders
#define EKIDEN_SENDERS_SYNC_WAIT minimal_senders
#include <ekiden/adapter/std_execution/as_sender.hpp>
#include <ekiden/async/async_event.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/execution/use_future.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/event.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <exception>
#include <functional>
#include <future>
#include <new>
#include <optional>
#include <thread>
#include <utility>

namespace {

namespace ex = minimal_senders;
using ekiden::coroutine;
using ekiden::thread_pool;

enum class ended_by { none, value, error, stopped };

struct sender_end {
    std::atomic<ended_by> how{ended_by::none};
    std::thread::id by;
};

struct receiver_of_end {
    using receiver_concept = ex::receiver_tag;
    void set_value() && noexcept { end(ended_by::value); }
    void set_stopped() && noexcept { end(ended_by::stopped); }
    void set_error(const std::exception_ptr&) && noexcept { end(ended_by::error); }
    void end(ended_by how) const noexcept {
        to->by = std::this_thread::get_id();
        CHECK(to->how.exchange(how) == ended_by::none);
    }
    sender_end* to;
};

/// Gives each function to a pool. post() returns when the function has returned, or throws without the
/// function.
class slow_executor {
public:
    explicit slow_executor(thread_pool& pool, bool throws = false) noexcept : pool_(&pool), throws_(throws) {}
    [[nodiscard]] thread_pool& context() const noexcept { return *pool_; }
    void on_work_started() const noexcept {}
    void on_work_finished() const noexcept {}
    template <class F, class A>
    void post(F&& f, const A& a) const {
        std::promise<void> end;
        std::future<void> ended = end.get_future();
        if (throws_) throw std::bad_alloc();
        pool_->get_executor().post(
            [f = std::forward<F>(f), end = std::move(end)]() mutable {
                std::move(f)();
                end.set_value();
            },
            a);
        ended.wait();
    }
    template <class F, class A>
    void dispatch(F&& f, const A& a) const {
        post(std::forward<F>(f), a);
    }
    template <class F, class A>
    void defer(F&& f, const A& a) const {
        post(std::forward<F>(f), a);
    }
    friend bool operator==(const slow_executor&, const slow_executor&) = default;

private:
    thread_pool* pool_;
    bool throws_;
};

/// An executor of a pool that calls `before` whenever it gets a task.
struct interrupted_executor : ekiden::task_sink<interrupted_executor> {
    interrupted_executor(thread_pool& to, const std::function<void()>& called) : pool(&to), before(&called) {}
    [[nodiscard]] thread_pool& context() const noexcept { return *pool; }
    void on_work_started() const noexcept { pool->get_executor().on_work_started(); }
    void on_work_finished() const noexcept { pool->get_executor().on_work_finished(); }
    bool accept(ekiden::task* given, ekiden::task_order order) const {
        (*before)();
        return ekiden::accept_task(pool->get_executor(), given, order);
    }
    [[nodiscard]] bool running_in_this_thread() const noexcept { return false; }
    void report_unhandled(const char*) const noexcept {}
    friend bool operator==(const interrupted_executor&, const interrupted_executor&) = default;

    thread_pool* pool;
    const std::function<void()>* before;
};

coroutine<> ends_at_once() { co_return; }

} // namespace

TEST_CASE("as_sender completes on its executor, although start() has not returned") {
    thread_pool pool({.threads = 1});
    sender_end reached;
    auto operation = ekiden::as_sender(slow_executor(pool), ends_at_once).connect(receiver_of_end{&reached});
    operation.start();
    CHECK(reached.how == ended_by::value);
    CHECK(reached.by == pool.submit([] { return std::this_thread::get_id(); }).get());
}

TEST_CASE(
    "the operation of as_sender may be destroyed when it completes, although start() has not returned") {
    struct last_receiver : receiver_of_end {
        void set_value() && noexcept {
            sender_end* const told = to;
            destroy(self);
            told->how = ended_by::value;
        }
        void (*destroy)(void*);
        void* self;
    };
    using operation = ekiden::detail::coroutine_operation<slow_executor, coroutine<> (*)(), last_receiver>;
    thread_pool pool({.threads = 1});
    sender_end reached;
    std::optional<operation> place;
    last_receiver last{
        {&reached}, [](void* at) { static_cast<std::optional<operation>*>(at)->reset(); }, &place};
    place.emplace(slow_executor(pool), &ends_at_once, std::move(last));
    place->start();
    CHECK(reached.how == ended_by::value);
    CHECK_FALSE(place.has_value());
}

TEST_CASE("as_sender completes with the exception of the executor's post()") {
    thread_pool pool({.threads = 1});
    sender_end reached;
    auto operation =
        ekiden::as_sender(slow_executor(pool, true), ends_at_once).connect(receiver_of_end{&reached});
    operation.start();
    CHECK(reached.how == ended_by::error);
    CHECK(reached.by == std::this_thread::get_id());
}

// The executor of the sender throws, and so drops the coroutine, while the thread passes another coroutine
// on.
TEST_CASE("an operation of as_sender completes once if it is started inside a post of another coroutine") {
    thread_pool pool({.threads = 1});
    sender_end reached;
    auto operation =
        ekiden::as_sender(slow_executor(pool, true), ends_at_once).connect(receiver_of_end{&reached});
    ekiden::event event;
    bool starts = false;
    const std::function<void()> before = [&] {
        if (std::exchange(starts, false)) operation.start();
    };
    const auto waits = [&]() -> coroutine<> { co_await async_wait(event); };
    auto ended = ekiden::co_spawn(interrupted_executor(pool, before), waits, ekiden::use_future);
    pool.wait_idle();
    starts = true;
    event.set();
    ended.get();
    pool.join();
    CHECK(reached.how == ended_by::error);
}

TEST_CASE("a coroutine that is dropped during or after start() completes its sender once, as stopped") {
    thread_pool pool({.threads = 1});
    ekiden::lanes<int> one(pool, {.lane_capacity = 1, .policy = ekiden::when_full::drop_oldest});
    pool.pause();
    sender_end first;
    sender_end second;
    auto begun = ekiden::as_sender(one.get_executor(1), ends_at_once).connect(receiver_of_end{&first});
    auto next = ekiden::as_sender(one.get_executor(1), ends_at_once).connect(receiver_of_end{&second});
    begun.start();
    CHECK(first.how == ended_by::none);
    next.start(); // drops the first coroutine
    CHECK(second.how == ended_by::none);
    pool.resume();
    pool.wait_idle();
    CHECK(first.how == ended_by::stopped);
    CHECK(second.how == ended_by::value);
    pool.stop();
    sender_end third;
    auto refused = ekiden::as_sender(one.get_executor(1), ends_at_once).connect(receiver_of_end{&third});
    refused.start();
    pool.join();
    CHECK(third.how == ended_by::stopped);
}

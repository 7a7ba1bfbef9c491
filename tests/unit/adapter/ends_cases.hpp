/// A context ends while coroutines wait for something of this library with objects of Asio's in their frames.
/// Included by a source for each of the two Asios, which has said what `net` and `adapted()` are.
#pragma once

#include <ekiden/async/async_event.hpp>
#include <ekiden/async/async_lock.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/resume_on.hpp>
#include <ekiden/execution/any_executor.hpp>
#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/fifo_mutex.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <memory>

namespace {

using ekiden::coroutine;

/// A service of Asio's that says whether it is there.
class probe_service final : public net::execution_context::service {
public:
    static inline net::execution_context::id id;
    static inline bool is_there = false;

    explicit probe_service(net::execution_context& owner) : net::execution_context::service(owner) {
        is_there = true;
    }
    ~probe_service() override { is_there = false; }

private:
    void shutdown() override {}
};

/// An object of Asio's: it uses the service at its end.
struct uses_service {
    explicit uses_service(net::execution_context& context) { (void)net::use_service<probe_service>(context); }
    uses_service(const uses_service&) = delete;
    uses_service& operator=(const uses_service&) = delete;
    ~uses_service() {
        ++ended;
        if (!probe_service::is_there) ++too_late;
    }
    static inline int ended = 0;
    static inline int too_late = 0;
};

/// Makes its objects when it runs, so the services are the newest of the context.
template <class E>
coroutine<> waits_with_objects(E where, ekiden::event& awaited) {
    const uses_service own(net::query(where, net::execution::context));
    net::basic_waitable_timer<std::chrono::steady_clock, net::wait_traits<std::chrono::steady_clock>, E>
        timer(where, std::chrono::hours(1));
    net::basic_stream_socket<net::ip::tcp, E> socket(where, net::ip::tcp::v4());
    co_await async_wait(awaited);
}

/// Has the lock, and waits for ever: its end gives the lock to another one, which is destroyed as well.
inline coroutine<> holds(ekiden::fifo_mutex& lock, ekiden::event& never) {
    const auto own = co_await ekiden::async_lock(lock);
    co_await async_wait(never);
}

struct ends_counted {
    ends_counted() { uses_service::ended = uses_service::too_late = 0; }
    ~ends_counted() {
        CHECK(uses_service::ended == 1);
        CHECK(uses_service::too_late == 0);
    }
};

} // namespace

TEST_CASE("rule: a context of ours destroys coroutines before what Asio has there for the objects in them") {
    const ends_counted ends;
    ekiden::event never;
    SUBCASE("a loop") {
        ekiden::loop_context loop(1);
        co_spawn(loop, [&] { return waits_with_objects(adapted(loop.get_executor()), never); });
        loop.poll();
    }
    SUBCASE("a loop of many threads, which has been asked for Asio's side before") {
        ekiden::loop_context loop;
        const auto where = adapted(loop.get_executor());
        (void)net::query(where, net::execution::context);
        co_spawn(loop, [&] { return waits_with_objects(where, never); });
        loop.poll();
    }
    SUBCASE("a pool") {
        ekiden::thread_pool pool(1);
        co_spawn(pool, [&] { return waits_with_objects(adapted(pool.get_executor()), never); });
        pool.wait_idle();
        pool.stop();
    }
}

TEST_CASE("rule: a context of Asio's destroys coroutines before its services") {
    const ends_counted ends;
    ekiden::event news;
    net::io_context io(1);
    co_spawn(ekiden::from_asio(io), [&] { return waits_with_objects(io.get_executor(), news); });
    io.poll();
    SUBCASE("that wait") {}
    SUBCASE("that are in its queue") { news.set(); }
}

TEST_CASE(
    "rule: a context of Asio's refuses coroutines that the end of others lets go on while it is destroyed") {
    ekiden::event never;
    ekiden::fifo_mutex lock;
    net::io_context io(1);
    for (int i = 0; i != 3; ++i) co_spawn(ekiden::from_asio(io), [&] { return holds(lock, never); });
    io.poll();
}

TEST_CASE(
    "rule: a coroutine that another executor refuses ends on its context of Asio's, which has no work left") {
    net::io_context io(1);
    ekiden::thread_pool stopped(1);
    stopped.stop();
    auto result = co_spawn(
        ekiden::from_asio(io), [&]() -> coroutine<> { co_await resume_on(stopped); }, ekiden::use_future);
    io.run();
    CHECK_THROWS_AS(result.get(), ekiden::operation_canceled);
}

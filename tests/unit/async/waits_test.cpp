// Every awaited operation with every limit: done, timed out, stopped before the call, and stopped during the
// wait, by its own token and by the stop of the coroutine.
#include "lock_support.hpp"

#include <ekiden/async/async_buffer.hpp>
#include <ekiden/async/async_event.hpp>
#include <ekiden/async/async_lock.hpp>
#include <ekiden/async/sync_wait.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/sync/fifo_mutex.hpp>
#include <ekiden/sync/hybrid_mutex.hpp>
#include <ekiden/sync/mutex.hpp>

#include "../effort.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>

using namespace ekiden;
using ekiden_test::until;
using lock_support::spawner;
using namespace std::chrono_literals;

namespace {

enum class gate_state { open, shut };
enum class gate_op { shut, open };
constexpr auto gate_table = make_state_table<gate_state, gate_op>(
    gate_state::open, {{gate_op::shut, gate_state::open, gate_state::shut},
                       {gate_op::open, gate_state::shut, gate_state::open}});

// A row of the table: the operation with its forms, what makes it possible, and what undoes it.

/// A mutex that a thread holds at first.
template <class Mutex>
struct lock_row {
    Mutex m;
    lock_row() { m.lock(); }
    auto plain() { return async_lock(m); }
    template <class Limit>
    auto limited(Limit limit) {
        return async_lock(m, std::move(limit));
    }
    auto in(std::chrono::nanoseconds d) { return async_try_lock_for(m, d); }
    auto at(std::chrono::steady_clock::time_point t) { return async_try_lock_until(m, t); }
    void allow() { m.unlock(); }
    bool is_untouched() { return m.try_lock(); } // after allow()
};

struct shared_row {
    rw_mutex<> m;
    shared_row() { m.lock(); }
    auto plain() { return async_lock_shared(m); }
    template <class Limit>
    auto limited(Limit limit) {
        return async_lock_shared(m, std::move(limit));
    }
    auto in(std::chrono::nanoseconds d) { return async_try_lock_shared_for(m, d); }
    auto at(std::chrono::steady_clock::time_point t) { return async_try_lock_shared_until(m, t); }
    void allow() { m.unlock(); }
    bool is_untouched() { return m.try_lock(); }
};

struct enter_row {
    state_mutex<gate_table> m;
    auto plain() { return async_enter<gate_op::open>(m); }
    template <class Limit>
    auto limited(Limit limit) {
        return async_enter<gate_op::open>(m, std::move(limit));
    }
    auto in(std::chrono::nanoseconds d) { return async_enter_for<gate_op::open>(m, d); }
    auto at(std::chrono::steady_clock::time_point t) { return async_enter_until<gate_op::open>(m, t); }
    void allow() { m.enter<gate_op::shut>().leave<gate_state::shut>(); }
    bool is_untouched() {
        auto guard = m.try_enter<gate_op::open>();
        if (guard) guard->leave<gate_state::open>();
        return guard.has_value();
    }
};

struct acquire_row {
    counting_semaphore<> s{0};
    auto plain() { return async_acquire(s); }
    template <class Limit>
    auto limited(Limit limit) {
        return async_acquire(s, std::move(limit));
    }
    auto in(std::chrono::nanoseconds d) { return async_try_acquire_for(s, d); }
    auto at(std::chrono::steady_clock::time_point t) { return async_try_acquire_until(s, t); }
    void allow() { s.release(); }
    bool is_untouched() { return s.try_acquire(); }
};

template <class Event>
struct event_row {
    static Event make() {
        if constexpr (std::is_same_v<Event, latch>)
            return Event(1);
        else
            return Event();
    }
    Event e = make();
    auto plain() { return async_wait(e); }
    template <class Limit>
    auto limited(Limit limit) {
        return async_wait(e, std::move(limit));
    }
    auto in(std::chrono::nanoseconds d) { return async_wait_for(e, d); }
    auto at(std::chrono::steady_clock::time_point t) { return async_wait_until(e, t); }
    void allow() {
        if constexpr (std::is_same_v<Event, latch>)
            e.count_down();
        else
            e.set();
    }
    static bool is_untouched() { return true; }
};

/// Waits for the round of an arrival that was made before.
struct round_row {
    barrier<> b{2};
    barrier<>::arrival_token token = b.arrive();
    auto plain() { return async_wait(b, token); }
    template <class Limit>
    auto limited(Limit limit) {
        return async_wait(b, token, std::move(limit));
    }
    auto in(std::chrono::nanoseconds d) { return async_wait_for(b, token, d); }
    auto at(std::chrono::steady_clock::time_point t) { return async_wait_until(b, token, t); }
    void allow() { (void)b.arrive(); }
    static bool is_untouched() { return true; }
};

/// Arrives as it is awaited. An arrival counts whatever becomes of its wait.
struct arrive_row {
    barrier<> b{2};
    auto plain() { return async_arrive_and_wait(b); }
    template <class Limit>
    auto limited(Limit limit) {
        return async_arrive_and_wait(b, std::move(limit));
    }
    auto in(std::chrono::nanoseconds d) { return async_arrive_and_wait_for(b, d); }
    auto at(std::chrono::steady_clock::time_point t) { return async_arrive_and_wait_until(b, t); }
    void allow() { b.arrive_and_wait(); } // the second one: the first has counted
    static bool is_untouched() { return true; }
};

/// Takes an item from a buffer that is empty at first. A stop of the coroutine is a status, no exception.
struct pop_row {
    static constexpr bool tells_stop = true;
    bounded_buffer<int> b{1};
    auto plain() { return async_pop(b); }
    template <class Limit>
    auto limited(Limit limit) {
        return async_pop(b, std::move(limit));
    }
    auto in(std::chrono::nanoseconds d) { return async_pop_for(b, d); }
    auto at(std::chrono::steady_clock::time_point t) { return async_pop_until(b, t); }
    void allow() { (void)b.push(1); }
    bool is_untouched() { return b.size() == 1; }
};

/// Pushes into a buffer that is full at first.
struct push_row {
    static constexpr bool tells_stop = true;
    bounded_buffer<int> b{1};
    int item = 2;
    push_row() { (void)b.push(1); }
    auto plain() { return async_push(b, std::move(item)); }
    template <class Limit>
    auto limited(Limit limit) {
        return async_push(b, std::move(item), std::move(limit));
    }
    auto in(std::chrono::nanoseconds d) { return async_push_for(b, std::move(item), d); }
    auto at(std::chrono::steady_clock::time_point t) { return async_push_until(b, std::move(item), t); }
    void allow() { (void)b.pop(); }
    bool is_untouched() { return b.size() == 0 && item == 2; }
};

template <class Row>
constexpr bool tells_stop = requires { Row::tells_stop; };

enum class end { none, done, not_done, canceled };

/// How a form without a limit ends at a stop of the coroutine.
template <class Row>
constexpr end when_stopped = tells_stop<Row> ? end::not_done : end::canceled;

/// The end of an operation with this result.
template <class Result>
end end_of(Result result) {
    bool done = true;
    if constexpr (std::is_same_v<Result, queue_status>)
        done = result == queue_status::done;
    else if constexpr (std::is_same_v<Result, bool>)
        done = result;
    else if constexpr (requires { result.has_value(); })
        done = result.has_value();
    if constexpr (requires { result.template leave<gate_state::open>(); }) {
        result.template leave<gate_state::open>();
    } else if constexpr (requires { result->template leave<gate_state::open>(); }) {
        if (result) result->template leave<gate_state::open>();
    }
    return done ? end::done : end::not_done;
}

/// One of a row's forms with its argument.
struct call {
    enum class form { plain, limit, token, duration, time } which = form::plain;
    wait_limit limit{};
    std::stop_token token{};
    std::chrono::nanoseconds duration{};
    std::chrono::steady_clock::time_point time{};
};
call plain() { return {}; }
call limited(wait_limit limit) { return {.which = call::form::limit, .limit = std::move(limit)}; }
call limited(std::stop_token token) { return {.which = call::form::token, .token = std::move(token)}; }
call in(std::chrono::nanoseconds d) { return {.which = call::form::duration, .duration = d}; }
call at(std::chrono::steady_clock::time_point t) { return {.which = call::form::time, .time = t}; }

/// Awaits the operation. One coroutine has all forms, because a coroutine for each takes the compiler long.
template <class Row>
coroutine<end> awaited(Row& row, call c) {
    try {
        switch (c.which) {
        case call::form::plain:
            if constexpr (std::is_void_v<decltype(row.plain().await_resume())>) {
                co_await row.plain();
                co_return end::done;
            } else {
                co_return end_of(co_await row.plain());
            }
        case call::form::limit:
            co_return end_of(co_await row.limited(c.limit));
        case call::form::token:
            co_return end_of(co_await row.limited(c.token));
        case call::form::duration:
            co_return end_of(co_await row.in(c.duration));
        case call::form::time:
            co_return end_of(co_await row.at(c.time));
        }
    } catch (const operation_canceled&) {
        co_return end::canceled;
    }
    co_return end::none;
}

/// Awaits an operation on a thread of its own, under `stop`.
class waiting {
public:
    template <class Row>
    waiting(thread_pool& pool, Row& row, call c, stop_state* stop = nullptr)
        : coroutines_(pool.get_executor(), stop) {
        begin(pool, [&row, c] { return awaited(row, c); });
    }
    [[nodiscard]] bool is_over() const noexcept { return coroutines_.running() == 0; }
    [[nodiscard]] end how() {
        coroutines_.join();
        return how_;
    }

private:
    void begin(thread_pool& pool, std::function<coroutine<end>()> operation) {
        coroutines_.spawn([this, operation = std::move(operation)]() -> coroutine<> {
            has_begun_ = true;
            how_ = co_await operation();
        });
        until([this] { return has_begun_.load(); });
        pool.wait_idle(); // it waits, or has ended
    }

    std::atomic<bool> has_begun_{false};
    end how_ = end::none;
    spawner coroutines_;
};

#define EKIDEN_ROWS                                                                                          \
    lock_row<mutex>, lock_row<fifo_mutex>, lock_row<hybrid_mutex>, lock_row<rw_mutex<>>, shared_row,         \
        enter_row, acquire_row, event_row<event>, event_row<latch>, round_row, arrive_row, pop_row, push_row

constexpr auto long_enough = 24h;

} // namespace

TEST_CASE_TEMPLATE("an awaited operation is done as soon as it can be, whatever its limit", Row,
                   EKIDEN_ROWS) {
    thread_pool pool(1);
    const std::stop_source never;
    for (const call& c :
         {plain(), limited(wait_limit()), limited(never.get_token()), limited(std::stop_token()),
          limited(wait_limit::after(long_enough).with(never.get_token())), in(long_enough),
          at(std::chrono::steady_clock::now() + long_enough)}) {
        Row row;
        waiting one(pool, row, c);
        CHECK_FALSE(one.is_over());
        row.allow();
        CHECK(one.how() == end::done);
    }
}

TEST_CASE_TEMPLATE("an awaited operation that times out says so and leaves nothing behind", Row,
                   EKIDEN_ROWS) {
    thread_pool pool(1);
    const auto times_out = [&](call c) {
        Row row;
        waiting one(pool, row, std::move(c));
        CHECK(one.how() == end::not_done);
        row.allow();
        CHECK(row.is_untouched());
    };
    times_out(in(2ms));
    times_out(in(-1h));
    times_out(at(std::chrono::steady_clock::now() + 2ms));
    times_out(at(std::chrono::steady_clock::time_point::min()));
    times_out(limited(wait_limit::after(2ms)));
    times_out(limited(wait_limit::until(std::chrono::system_clock::now() + 2ms)));
}

TEST_CASE_TEMPLATE("an awaited operation whose limit has been reached is tried once", Row, lock_row<mutex>,
                   shared_row, enter_row, acquire_row, event_row<event>, event_row<latch>, round_row) {
    thread_pool pool(1);
    std::stop_source stopped;
    stopped.request_stop();
    for (const call& c : {in(0ns), limited(stopped.get_token())}) {
        Row row;
        row.allow();
        waiting one(pool, row, c);
        CHECK(one.how() == end::done);
    }
}

TEST_CASE_TEMPLATE("an awaited operation ends at a stop that is requested before the call", Row,
                   EKIDEN_ROWS) {
    thread_pool pool(1);
    std::stop_source source;
    source.request_stop();
    stop_state stop;
    stop.request_stop();
    const auto ends = [&](end expected, call c, stop_state* environment) {
        Row row;
        waiting one(pool, row, std::move(c), environment);
        CHECK(one.how() == expected);
        row.allow();
        CHECK(row.is_untouched());
    };
    ends(end::not_done, limited(source.get_token()), nullptr);
    ends(end::not_done, limited(wait_limit::after(long_enough).with(source.get_token())), nullptr);
    ends(when_stopped<Row>, plain(), &stop);
    ends(end::not_done, limited(wait_limit()), &stop);
    ends(end::not_done, in(long_enough), &stop);
}

TEST_CASE_TEMPLATE("an awaited operation ends at a stop that is requested during the wait", Row,
                   EKIDEN_ROWS) {
    thread_pool pool(1);
    enum class stopped_by { token, environment };
    const auto ends = [&](end expected, call (*call_with)(std::stop_token), stopped_by what) {
        Row row;
        std::stop_source source;
        stop_state stop;
        waiting one(pool, row, call_with(source.get_token()), &stop);
        CHECK_FALSE(one.is_over());
        if (what == stopped_by::token)
            source.request_stop();
        else
            stop.request_stop();
        CHECK(one.how() == expected);
        row.allow();
        CHECK(row.is_untouched());
    };
    const auto with_token = [](std::stop_token token) { return limited(std::move(token)); };
    const auto with_both = [](std::stop_token token) {
        return limited(wait_limit::after(long_enough).with(std::move(token)));
    };
    ends(end::not_done, with_token, stopped_by::token);
    ends(end::not_done, with_token, stopped_by::environment);
    ends(end::not_done, with_both, stopped_by::token);
    ends(end::not_done, with_both, stopped_by::environment);
    ends(end::not_done, [](std::stop_token) { return in(long_enough); }, stopped_by::environment);
    ends(when_stopped<Row>, [](std::stop_token) { return plain(); }, stopped_by::environment);
}

TEST_CASE("a coroutine waits with a limit on a loop, too, and the loop ends when the wait has ended") {
    loop_context loop;
    mutex m;
    m.lock();
    bool has_ended = false;
    auto result = ekiden_test::begin_on(loop.get_executor(), [&]() -> coroutine<bool> {
        const auto guard = co_await async_try_lock_for(m, 2ms);
        has_ended = true;
        co_return guard.has_value();
    });
    loop.run();
    CHECK(has_ended);
    CHECK_FALSE(result.get());
    m.unlock();
}

TEST_CASE("rule: a grant, a token, a stop and a deadline that come together end a wait once, and no permit "
          "is lost") {
    const int rounds = ekiden_test::rounds(1000);
    thread_pool pool(2);
    for (int r = 0; r < rounds; ++r) {
        counting_semaphore<> s(0);
        stop_state stop;
        std::stop_source source;
        std::atomic<int> taken{0};
        std::atomic<int> ended{0};
        {
            spawner coroutines(pool.get_executor(), &stop);
            for (int i = 0; i < 4; ++i) {
                coroutines.spawn([&]() -> coroutine<> {
                    const wait_limit limit = wait_limit::after(20us).with(source.get_token());
                    const bool got = co_await async_acquire(s, limit);
                    taken += got ? 1 : 0;
                    ++ended;
                });
            }
            std::thread by_token([&] { source.request_stop(); });
            std::thread by_environment([&] { stop.request_stop(); });
            s.release(2);
            by_token.join();
            by_environment.join();
        }
        REQUIRE(ended == 4);
        int left = 0;
        while (s.try_acquire()) ++left;
        REQUIRE(taken + left == 2);
    }
}

TEST_CASE(
    "rule: a context that ends takes along coroutines that wait with a limit, and their frames end once") {
    const int rounds = ekiden_test::rounds(300);
    for (int r = 0; r < rounds; ++r) {
        constexpr int n = 6;
        mutex m;
        m.lock();
        counting_semaphore<> s(0);
        std::stop_source source;
        std::atomic<int> ended{0};
        {
            thread_pool gone(2);
            std::atomic<int> asked{0};
            for (int i = 0; i < n; ++i) {
                auto body = [&, i]() -> coroutine<> {
                    ++asked;
                    const wait_limit limit =
                        wait_limit::after(i % 2 == 0 ? long_enough : std::chrono::hours(0))
                            .with(source.get_token());
                    if (i % 3 == 0)
                        (void)co_await async_acquire(s, limit);
                    else
                        (void)co_await async_lock(m, limit);
                };
                lock_support::root(std::move(body), ended).promise().begin(gone.get_executor());
            }
            until([&] { return asked == n; });
            if (r % 2 == 0) s.release();
            gone.stop();
            if (r % 2 == 1) s.release();
        }
        REQUIRE(ended == n);
        source.request_stop(); // finds no callback
        m.unlock();
        REQUIRE(m.try_lock());
        m.unlock();
    }
}

#include "user_executor.hpp"

#include <ekiden/execution/any_executor.hpp>
#include <ekiden/execution/bind_allocator.hpp>
#include <ekiden/execution/bind_executor.hpp>
#include <ekiden/execution/defer.hpp>
#include <ekiden/execution/dispatch.hpp>
#include <ekiden/execution/inline_executor.hpp>
#include <ekiden/execution/post.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/execution/use_future.hpp>
#include <ekiden/execution/work_guard.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/pool/blocking_region.hpp>
#include <ekiden/pool/default_pool.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/event.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

static_assert(ekiden::task_executor<ekiden::thread_pool::executor_type>);
static_assert(ekiden::task_executor<ekiden::system_executor>);
static_assert(ekiden::task_executor<ekiden::inline_executor>);
static_assert(ekiden::executor<users_context::executor_type>);
static_assert(!ekiden::task_executor<users_context::executor_type>);
static_assert(!ekiden::executor<int>);

namespace {

// Counts what it has given out, and how much of that is there still.
struct account {
    int live = 0;
    int given = 0;
};
template <class T>
struct counting_allocator {
    using value_type = T;
    explicit counting_allocator(account& chosen) : to(&chosen) {}
    template <class U>
    counting_allocator(const counting_allocator<U>& other) : to(other.to) {}
    T* allocate(std::size_t n) {
        ++to->live;
        ++to->given;
        return std::allocator<T>().allocate(n);
    }
    void deallocate(T* p, std::size_t n) {
        --to->live;
        std::allocator<T>().deallocate(p, n);
    }
    friend bool operator==(const counting_allocator&, const counting_allocator&) = default;
    account* to;
};

struct [[nodiscard]] important {
    int value;
};

// With an executor that is empty when it has been moved from.
struct erased_handler {
    using executor_type = ekiden::any_executor;
    executor_type get_executor() const noexcept { return where; }
    void operator()() const { ++*calls; }
    executor_type where;
    int* calls;
};

// Associated by its members, without ekiden's help.
struct users_handler {
    using executor_type = users_context::executor_type;
    using allocator_type = counting_allocator<void>;
    executor_type get_executor() const noexcept { return where; }
    allocator_type get_allocator() const noexcept { return memory; }
    void operator()() const { ++*calls; }
    executor_type where;
    allocator_type memory;
    int* calls;
};

// Associated by a specialisation: the type knows nothing of it.
struct foreign_handler {
    users_context* where;
    int* calls;
    void operator()() const { ++*calls; }
};

} // namespace

template <class Executor>
struct ekiden::associated_executor<foreign_handler, Executor> {
    using type = users_context::executor_type;
    static type get(const foreign_handler& h, const Executor& = Executor()) noexcept {
        return h.where->get_executor();
    }
};

TEST_CASE(
    "post and defer never call before they return, and dispatch calls at once only inside of the context") {
    ekiden::thread_pool pool(1);
    const auto where = pool.get_executor();
    std::vector<std::string> order;
    ekiden::post(where, [&] {
        ekiden::post(where, [&] { order.push_back("post"); });
        ekiden::defer(where, [&] { order.push_back("defer"); });
        ekiden::dispatch(where, [&] { order.push_back("dispatch"); });
        order.push_back("end");
    });
    pool.wait_idle();
    CHECK(order == std::vector<std::string>{"dispatch", "end", "post", "defer"});
    std::thread::id there;
    ekiden::dispatch(where, [&] { there = std::this_thread::get_id(); });
    pool.wait_idle();
    CHECK(there != std::this_thread::get_id());
}

TEST_CASE("a task that defers itself lets through what waits, also in a pool of one thread") {
    ekiden::thread_pool pool(1);
    std::atomic<bool> others_ran{false};
    std::function<void()> again = [&] {
        if (!others_ran) ekiden::defer(pool, [&] { again(); });
    };
    pool.post([&] {
        ekiden::post(pool, [&] { others_ran = true; });
        again();
    });
    pool.wait_idle();
    CHECK(others_ran);
}

TEST_CASE("what a worker defers runs, though nobody is woken for it") {
    ekiden::thread_pool pool(2);
    std::atomic<int> ran{0};
    for (int i = 0; i < 200; ++i) {
        ekiden::post(pool, [&] { ekiden::defer(pool, [&] { ++ran; }); });
        if (i % 10 == 0) pool.wait_idle(); // asleep, at times
    }
    pool.wait_idle();
    CHECK(ran == 200);
}

TEST_CASE("what a task has deferred is run by another worker while the task blocks") {
    ekiden::thread_pool pool(2); // of fixed size
    for (int round = 0; round < 20; ++round) {
        ekiden::event has_run;
        std::atomic<bool> has_ended{false};
        if (round % 2 == 0) pool.wait_idle();
        pool.post([&] {
            ekiden::defer(pool, [&] { has_run.set(); });
            if (round % 4 < 2) {
                has_run.wait(); // says that it blocks
            } else {
                const ekiden::blocking_region here;
                while (!has_run.is_set()) std::this_thread::yield();
            }
            has_ended = true;
        });
        while (!has_ended) std::this_thread::yield();
        pool.wait_idle(); // the deferred task has let go of the event
    }
}

TEST_CASE("a handler with an executor of its own ends there, and its context has work until then") {
    ekiden::thread_pool pool(1);
    users_context home;
    int calls = 0;
    pool.pause();
    ekiden::post(pool, ekiden::bind_executor(home, [&] { ++calls; }));
    CHECK(home.work == 1);
    pool.resume();
    pool.wait_idle();
    CHECK(calls == 0);
    CHECK(home.posts == 1); // dispatched to, from outside
    CHECK(home.run() == 1);
    CHECK(calls == 1);
    CHECK(home.work == 0);

    ekiden::post(home, ekiden::bind_executor(home, [&] { ++calls; }));
    CHECK(home.posts == 2);
    CHECK(home.run() == 1); // not posted twice: it is the same executor
    CHECK(calls == 2);
}

TEST_CASE("a handler that is dropped on its way gives up the work that it counted as") {
    users_context first;
    users_context home;
    bool was_called = false;
    ekiden::post(first, ekiden::bind_executor(home, [&] { was_called = true; }));
    CHECK(home.work == 1);
    first.drop_all();
    CHECK(home.work == 0);
    CHECK(!was_called);
}

TEST_CASE("a handler that takes its executor along when it is passed on gives up its work all the same") {
    users_context first;
    users_context home;
    const ekiden::any_executor to_home(home.get_executor());
    int calls = 0;
    ekiden::post(first, ekiden::bind_allocator(std::allocator<int>(),
                                               ekiden::bind_executor(to_home, [&calls] { ++calls; })));
    ekiden::post(first, erased_handler{to_home, &calls});
    CHECK(home.work == 2);
    CHECK(first.run() == 2);
    CHECK(home.work == 2); // until they are called
    CHECK(home.run() == 2);
    CHECK(calls == 2);
    CHECK(home.work == 0);
}

namespace {

/// A context that drops each function at once. Tells `is_alive` when it is destroyed.
struct dropping_context : ekiden::execution_context {
    explicit dropping_context(bool& alive) : is_alive(alive) { alive = true; }
    ~dropping_context() override {
        shut_down_services();
        is_alive = false;
    }
    bool& is_alive;
};
struct dropping_executor {
    [[nodiscard]] dropping_context& context() const noexcept { return *where; }
    void on_work_started() const noexcept { CHECK(*is_alive); }
    void on_work_finished() const noexcept { CHECK(*is_alive); }
    template <class F, class A>
    void dispatch(F&& f, const A&) const {
        const std::decay_t<F> dropped(std::forward<F>(f));
    }
    template <class F, class A>
    void post(F&& f, const A& a) const {
        dispatch(std::forward<F>(f), a);
    }
    template <class F, class A>
    void defer(F&& f, const A& a) const {
        dispatch(std::forward<F>(f), a);
    }
    friend bool operator==(const dropping_executor&, const dropping_executor&) = default;

    dropping_context* where;
    const bool* is_alive;
};

} // namespace

TEST_CASE("a handler may own the context of its executor, which drops the handler") {
    bool is_alive = false;
    users_context first;
    auto owned = std::make_shared<dropping_context>(is_alive);
    const dropping_executor where{owned.get(), &is_alive};
    ekiden::post(first, ekiden::bind_executor(where, [owned = std::move(owned)] { FAIL("it is dropped"); }));
    CHECK(first.run() == 1);
    CHECK_FALSE(is_alive);
}

TEST_CASE("a handler may own the stopped pool of its executor") {
    ekiden::thread_pool first(1);
    first.pause();
    const auto post_to = [&first](auto executor_of) {
        auto owned = std::make_shared<ekiden::thread_pool>(1);
        const std::weak_ptr<ekiden::thread_pool> seen = owned;
        const auto where = executor_of(*owned);
        ekiden::post(first, ekiden::bind_executor(where, [owned] { FAIL("the pool has stopped"); }));
        owned->stop();
        return seen;
    };
    const auto of_pool = post_to([](ekiden::thread_pool& pool) { return pool.get_executor(); });
    const auto of_strand =
        post_to([](ekiden::thread_pool& pool) { return ekiden::strand(pool.get_executor()); });
    const auto of_lane = post_to([](ekiden::thread_pool& pool) {
        return ekiden::any_executor(ekiden::lanes<int>(pool.get_executor()).get_executor(1));
    });
    first.resume();
    first.wait_idle();
    CHECK(of_pool.expired());
    CHECK(of_strand.expired());
    CHECK(of_lane.expired());
}

TEST_CASE("what a function returns is dropped, also what a compiler would warn of") {
    ekiden::thread_pool pool(1);
    const ekiden::lanes<int> lanes(pool.get_executor());
    std::atomic<int> calls{0};
    const auto returns = [&calls] { return important{++calls}; };
    struct may_throw { // when it is moved
        may_throw(std::atomic<int>& chosen) : to(&chosen) {}
        may_throw(const may_throw& other) : to(other.to) {}
        important operator()() const { return {++*to}; }
        std::atomic<int>* to;
    };
    account memory;
    pool.post(returns);
    pool.post(may_throw(calls));
    pool.get_executor().post(returns, counting_allocator<void>(memory));
    pool.get_executor().dispatch(returns);
    pool.get_executor().post_bulk(2, returns);
    pool.get_executor().post_bulk(2, [&returns](std::size_t) { return returns(); });
    (void)lanes.post(1, returns);
    (void)lanes.post(1, may_throw(calls));
    lanes.dispatch(1, returns);
    ekiden::strand(pool.get_executor()).dispatch(returns);
    pool.wait_idle();
    CHECK(calls == 12);
}

TEST_CASE("post without an executor goes to the handler's own, and else to the system's") {
    users_context home;
    int calls = 0;
    ekiden::post(ekiden::bind_executor(home, [&] { ++calls; }));
    CHECK(home.run() == 1);
    CHECK(calls == 1);
    CHECK(ekiden::post(ekiden::use_future([] {
              return ekiden::default_pool().running_in_this_thread();
          })).get());
    std::thread::id here;
    ekiden::dispatch([&] { here = std::this_thread::get_id(); }); // of the system: every thread is inside
    CHECK(here == std::this_thread::get_id());
    CHECK(&ekiden::system_executor().context() == &ekiden::default_pool());
    CHECK(ekiden::system_executor() == ekiden::system_executor());
}

TEST_CASE("an inline executor dispatches in place and posts elsewhere") {
    std::thread::id dispatched;
    ekiden::dispatch(ekiden::inline_executor(), [&] { dispatched = std::this_thread::get_id(); });
    CHECK(dispatched == std::this_thread::get_id());
    CHECK(
        ekiden::post(ekiden::inline_executor(), ekiden::use_future([] { return std::this_thread::get_id(); }))
            .get()
        != std::this_thread::get_id());
}

TEST_CASE("a binder calls its target in place, and of nested ones the outer executor counts") {
    users_context inner;
    users_context outer;
    int calls = 0;
    auto bound = ekiden::bind_executor(outer, ekiden::bind_executor(inner, [&](int by) { calls += by; }));
    bound(3);
    CHECK(calls == 3);
    CHECK(ekiden::get_associated_executor(bound) == outer.get_executor());
    ekiden::post(ekiden::bind_executor(outer, ekiden::bind_executor(inner, [&] { ++calls; })));
    CHECK(inner.run() == 0);
    CHECK(outer.run() == 1);
    CHECK(calls == 4);
}

TEST_CASE(
    "bound executors and allocators pass through each other, in either order, and through a reference") {
    users_context home;
    account memory;
    const counting_allocator<void> allocator(memory);
    int calls = 0;
    const auto f = [&calls] { ++calls; };
    auto one = ekiden::bind_executor(home, ekiden::bind_allocator(allocator, f));
    auto other = ekiden::bind_allocator(allocator, ekiden::bind_executor(home, f));
    CHECK(ekiden::get_associated_allocator(one) == allocator);
    CHECK(ekiden::get_associated_executor(other) == home.get_executor());
    CHECK(ekiden::get_associated_allocator(std::ref(one)) == allocator);
    CHECK(ekiden::get_associated_executor(std::ref(other)) == home.get_executor());
    ekiden::post(other);
    ekiden::post(one);
    CHECK(home.run() == 2);
    CHECK(calls == 2);
}

TEST_CASE("memory comes from the associated allocator and is given back before the call") {
    ekiden::thread_pool pool(1);
    account memory;
    const counting_allocator<void> allocator(memory);
    int live_in_call = -1;
    ekiden::post(pool, ekiden::bind_allocator(allocator, [&] { live_in_call = memory.live; }));
    pool.wait_idle();
    CHECK(memory.given == 1);
    CHECK(live_in_call == 0);
    pool.get_executor().defer([&] { live_in_call = memory.live; }, allocator);
    pool.wait_idle();
    CHECK(memory.given == 2);
    CHECK(memory.live == 0);
    pool.stop();
    ekiden::post(pool, ekiden::bind_allocator(allocator, [] {})); // refused
    CHECK(memory.live == 0);
}

TEST_CASE("types of a program plug in by their members, or by a specialisation") {
    users_context home;
    account memory;
    int calls = 0;
    ekiden::thread_pool pool(1);
    ekiden::post(pool, users_handler{home.get_executor(), counting_allocator<void>(memory), &calls});
    pool.wait_idle();
    CHECK(memory.given == 1);
    CHECK(memory.live == 0);
    CHECK(home.run() == 1);
    ekiden::post(pool, foreign_handler{&home, &calls});
    pool.wait_idle();
    CHECK(home.run() == 1);
    CHECK(calls == 2);
}

TEST_CASE("handlers need only be movable") {
    ekiden::thread_pool pool(1);
    std::unique_ptr<int> seen;
    ekiden::post(pool, [p = std::make_unique<int>(7), &seen]() mutable { seen = std::move(p); });
    pool.wait_idle();
    REQUIRE(seen != nullptr);
    CHECK(*seen == 7);
}

TEST_CASE("a work guard counts once however it is moved, and copies count too") {
    users_context home;
    {
        auto guard = ekiden::make_work_guard(home);
        CHECK(home.work == 1);
        auto moved = std::move(guard);
        CHECK(home.work == 1);
        CHECK(!guard.owns_work()); // NOLINT: what a moved guard says is part of its contract
        const auto copied = moved;
        CHECK(home.work == 2);
        moved.reset();
        moved.reset();
        CHECK(home.work == 1);
        CHECK(copied.owns_work());
        CHECK(copied.get_executor() == home.get_executor());
    }
    CHECK(home.work == 0);
    const auto of_handler = ekiden::make_work_guard(ekiden::bind_executor(home, [] {}));
    CHECK(home.work == 1);
}

TEST_CASE("join waits for a work guard") {
    std::atomic<bool> was_posted{false};
    std::optional<ekiden::thread_pool> pool(1);
    auto guard = ekiden::make_work_guard(*pool);
    std::thread elsewhere([&was_posted, guard = std::move(guard)]() mutable {
        ekiden::post(guard.get_executor(), [&was_posted] { was_posted = true; });
        guard.reset();
    });
    pool->join();
    CHECK(was_posted);
    elsewhere.join();
}

namespace other_library {

struct found {};
template <class T>
found get_associated_executor(const T&);
template <class T>
found get_associated_allocator(const T&);

template <class T>
using executor_of = decltype(get_associated_executor(std::declval<T>()));
template <class T>
using allocator_of = decltype(get_associated_allocator(std::declval<T>()));

} // namespace other_library

TEST_CASE("rule: an unqualified get_associated_executor of another library is not found in this one") {
    using ours = ekiden::thread_pool::executor_type;
    CHECK(std::is_same_v<other_library::executor_of<ours>, other_library::found>);
    CHECK(std::is_same_v<other_library::allocator_of<ours>, other_library::found>);
}

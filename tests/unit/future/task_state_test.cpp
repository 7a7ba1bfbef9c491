#include <ekiden/future/future.hpp>
#include <ekiden/future/operation_canceled.hpp>

#include <tests/unit/effort.hpp>
#include <tests/unit/failing_allocations.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

using ekiden::future;
using ekiden::stoppable_task_state;
using ekiden::task;
using ekiden::task_state;
namespace recycler = ekiden::recycler;

namespace {

/// A task and its future, as a pool makes them.
template <class R>
struct submitted {
    task* queued;
    future<R> result;
};

template <class F, class R = std::invoke_result_t<std::decay_t<F>>>
submitted<R> submit(F&& f) {
    auto* const state = recycler::create<task_state<R, std::decay_t<F>>>(std::forward<F>(f));
    return {state, ekiden::detail::future_access::make<future<R>>(state)};
}

template <class F, class R = std::invoke_result_t<std::decay_t<F>>>
submitted<R> submit(std::stop_token token, F&& f) {
    auto* const state = recycler::create<stoppable_task_state<R, std::decay_t<F>>>(std::forward<F>(f));
    state->cancel_on(std::move(token));
    return {state, ekiden::detail::future_access::make<future<R>>(state)};
}

template <class R>
bool reports_canceled(future<R>& result) {
    try {
        result.get();
    } catch (const ekiden::operation_canceled& error) {
        return error.code() == std::errc::operation_canceled;
    }
    return false;
}

/// Makes callables that note their calls, and counts those that are alive.
struct observed {
    std::shared_ptr<int> alive = std::make_shared<int>(0);
    int calls = 0;

    auto callable(int value) {
        return [this, witness = alive, value] {
            ++calls;
            return value;
        };
    }
    [[nodiscard]] bool has_callable() const { return alive.use_count() != 1; }
};

struct meeting {
    std::atomic<int> here{0};
    void meet(int all) {
        ++here;
        while (here.load() < all) std::this_thread::yield();
    }
};

} // namespace

TEST_CASE("A task that runs gives its value and its callable is gone before that") {
    observed all;
    auto [queued, result] = submit(all.callable(4));
    CHECK(all.has_callable());
    CHECK_FALSE(result.is_ready());
    queued->run();
    CHECK_FALSE(all.has_callable());
    CHECK(result.is_ready());
    CHECK_FALSE(result.cancel());
    CHECK(result.get() == 4);
    CHECK(all.calls == 1);
}

TEST_CASE("A task that throws gives its exception and its callable is gone") {
    observed all;
    auto [queued, result] = submit([inner = all.callable(0)]() mutable -> int {
        (void)inner();
        throw std::runtime_error("from the task");
    });
    queued->run();
    CHECK_FALSE(all.has_callable());
    CHECK_THROWS_WITH_AS(result.get(), "from the task", std::runtime_error);
}

TEST_CASE("A task that is abandoned reports that it was canceled") {
    observed all;
    auto [queued, result] = submit(all.callable(4));
    queued->abandon();
    CHECK_FALSE(all.has_callable());
    CHECK(reports_canceled(result));
    CHECK(all.calls == 0);
}

TEST_CASE("A task that is canceled does not run and whoever takes it from the queue drops it") {
    for (const bool runs : {true, false}) {
        observed all;
        auto [queued, result] = submit(all.callable(4));
        CHECK(result.cancel());
        CHECK_FALSE(all.has_callable());
        CHECK(result.is_ready());
        CHECK_FALSE(result.cancel());
        if (runs)
            queued->run();
        else
            queued->abandon();
        CHECK(reports_canceled(result));
        CHECK(all.calls == 0);
    }
}

TEST_CASE("A canceled task whose future is gone is dropped by the queue") {
    observed all;
    auto made = submit(all.callable(4));
    CHECK(made.result.cancel());
    made.result = {};
    made.queued->run();
    CHECK(all.calls == 0);
}

TEST_CASE("A task whose future is gone runs all the same") {
    for (const bool runs : {true, false}) {
        observed all;
        auto made = submit(all.callable(4));
        made.result = {};
        CHECK(all.has_callable());
        if (runs)
            made.queued->run();
        else
            made.queued->abandon();
        CHECK_FALSE(all.has_callable());
        CHECK(all.calls == (runs ? 1 : 0));
    }
}

TEST_CASE("A task may return nothing or a reference or what can only be moved") {
    int object = 0;
    auto nothing = submit([&] { ++object; });
    nothing.queued->run();
    nothing.result.get();
    CHECK(object == 1);
    auto reference = submit([&]() -> int& { return object; });
    reference.queued->run();
    CHECK(&reference.result.get() == &object);
    auto unique = submit([number = std::make_unique<int>(3)]() mutable { return std::move(number); });
    unique.queued->run();
    CHECK(*unique.result.get() == 3);
}

TEST_CASE("A result whose construction throws gives that exception") {
    struct stubborn {
        stubborn() = default;
        stubborn(const stubborn&) { throw std::logic_error("stays"); }
    };
    const stubborn source;
    auto [queued, result] = submit([&]() -> stubborn { return source; });
    queued->run();
    CHECK_THROWS_WITH_AS(result.get(), "stays", std::logic_error);
}

TEST_CASE("A callable whose copy throws leaves nothing behind") {
    struct stubborn {
        std::shared_ptr<int> witness;
        explicit stubborn(std::shared_ptr<int> w) : witness(std::move(w)) {}
        stubborn(const stubborn& other) : witness(other.witness) { throw std::logic_error("stays"); }
        int operator()() const { return *witness; }
    };
    const stubborn source(std::make_shared<int>(1));
    CHECK_THROWS_AS((void)submit(source), std::logic_error);
    std::stop_source stop;
    CHECK_THROWS_AS((void)submit(stop.get_token(), source), std::logic_error);
    CHECK(source.witness.use_count() == 1);
}

TEST_CASE("A task says the name of its callable's type") {
    struct with_type_name {
        int operator()() const { return 0; }
    };
    auto [queued, result] = submit(with_type_name());
    const task::function type = queued->type();
    queued->run();
    const auto name = ekiden::described_type(type(nullptr, ekiden::task_request::describe));
    CHECK(name.ends_with("with_type_name"));
}

TEST_CASE("Tasks with futures need no allocation once memory has been recycled") {
    std::stop_source stop;
    const auto work = [&] {
        for (int i = 0; i != 200; ++i) {
            auto made = submit([i] { return i; });
            auto stoppable = submit(stop.get_token(), [i] { return i; });
            made.queued->run();
            stoppable.queued->run();
            if (made.result.get() + stoppable.result.get() != 2 * i) FAIL("another result");
        }
    };
    work();
    const long allocations = ekiden_test::allocation_count();
    work();
    CHECK(ekiden_test::allocation_count() == allocations);
}

#if !defined(EKIDEN_TSAN)
TEST_CASE("A large task with a future is one allocation and all of it is freed") {
    const long live = ekiden_test::live_allocation_count();
    const long allocations = ekiden_test::allocation_count();
    auto made = submit([room = std::array<char, 1000>()] { return room; });
    CHECK(ekiden_test::allocation_count() == allocations + 1);
    made.queued->run();
    made.result.get();
    CHECK(ekiden_test::allocation_count() == allocations + 1);
    CHECK(ekiden_test::live_allocation_count() == live);
    const ekiden_test::failing_allocation failing(0);
    CHECK_THROWS_AS((void)submit([room = std::array<char, 1000>()] { return room; }), std::bad_alloc);
}
#endif

TEST_CASE("Of run and cancel and abandon in different threads one decides and the callable ends once") {
    const int rounds = ekiden_test::rounds(10'000);
    int canceled = 0;
    int ran = 0;
    for (int round = 0; round != rounds; ++round) {
        observed all;
        auto made = submit(all.callable(round));
        meeting together;
        std::thread worker([&] {
            together.meet(2);
            if (round % 3 == 0)
                made.queued->abandon();
            else
                made.queued->run();
        });
        together.meet(2);
        const bool won = made.result.cancel();
        made.result.wait();
        if (all.has_callable()) FAIL("ready before the callable was gone");
        if (round % 5 == 0) {
            made.result = {};
        } else if (won || round % 3 == 0) {
            if (!reports_canceled(made.result)) FAIL("not canceled");
        } else if (made.result.get() != round) {
            FAIL("another result");
        }
        worker.join();
        canceled += won;
        ran += all.calls;
        if (all.calls + won + (round % 3 == 0) < 1 || (won && all.calls != 0)) FAIL("both or none");
    }
    CHECK(ran + canceled > 0);
}

// ---- stop requests

TEST_CASE("A stop request cancels a queued task and does nothing to one that has run") {
    std::stop_source stop;
    observed all;
    auto early = submit(stop.get_token(), all.callable(1));
    auto late = submit(stop.get_token(), all.callable(2));
    early.queued->run();
    stop.request_stop();
    CHECK_FALSE(all.has_callable());
    CHECK(early.result.get() == 1);
    CHECK(late.result.is_ready());
    CHECK(reports_canceled(late.result));
    late.queued->run();
    CHECK(all.calls == 1);
}

TEST_CASE("A task that is made after the stop request is canceled at once") {
    std::stop_source stop;
    stop.request_stop();
    observed all;
    auto made = submit(stop.get_token(), all.callable(1));
    CHECK_FALSE(all.has_callable());
    made.queued->run();
    CHECK(reports_canceled(made.result));
    CHECK(all.calls == 0);
}

TEST_CASE("A token that can never stop changes nothing") {
    auto made = submit(std::stop_token(), [] { return 6; });
    made.queued->run();
    CHECK(made.result.get() == 6);
}

TEST_CASE("A task that has ended does not answer a stop request") {
    std::stop_source stop;
    for (const bool runs : {true, false}) {
        auto made = submit(stop.get_token(), [] { return 6; });
        made.result = {};
        if (runs)
            made.queued->run();
        else
            made.queued->abandon();
    }
    stop.request_stop(); // no callback is left
}

TEST_CASE("Of a stop request and a cancel one destroys the callable") {
    std::stop_source stop;
    observed all;
    auto made = submit(stop.get_token(), all.callable(1));
    CHECK(made.result.cancel());
    stop.request_stop();
    made.queued->abandon();
    CHECK(reports_canceled(made.result));
}

TEST_CASE("Stop request and run and the end of the future in three threads leave nothing behind") {
    const int rounds = ekiden_test::rounds(5000);
    for (int round = 0; round != rounds; ++round) {
        std::stop_source stop;
        observed all;
        auto made = submit(stop.get_token(), all.callable(round));
        meeting together;
        std::thread worker([&] {
            together.meet(3);
            made.queued->run();
        });
        std::thread stopper([&] {
            together.meet(3);
            stop.request_stop();
        });
        together.meet(3);
        if (round % 2 == 0) {
            made.result = {};
        } else {
            made.result.wait();
            if (all.has_callable()) FAIL("ready before the callable was gone");
            made.result = {};
        }
        worker.join();
        stopper.join();
        if (all.has_callable()) FAIL("a callable is left");
    }
}

namespace {

/// Owned by the callable whose future it holds, as in `r->result = pool.submit(token, [r] { ... })`. While
/// the callable is destroyed, a worker takes the task from its queue.
struct own_future {
    task* queued = nullptr;
    future<int> result;
    ~own_future() {
        if (queued != nullptr) queued->run(); // what the worker does: it finds the task claimed, and drops it
        result = {};                          // and this was the last reference
    }
};

/// Too large for a recycled node, so that AddressSanitizer sees when its memory is used after its end.
auto callable_that_owns(std::shared_ptr<own_future> owner) {
    return [owner = std::move(owner), room = std::array<char, 1000>()] { return static_cast<int>(room[0]); };
}

} // namespace

TEST_CASE("A callable that owns its own future can be canceled by a stop request") {
    const long live = ekiden_test::live_allocation_count();
    {
        std::stop_source stop;
        auto owner = std::make_shared<own_future>();
        auto made = submit(stop.get_token(), callable_that_owns(owner));
        owner->queued = made.queued;
        owner->result = std::move(made.result);
        owner.reset();
        stop.request_stop();
    }
    CHECK(ekiden_test::live_allocation_count() == live);
}

TEST_CASE("A callable that owns its own future can be canceled through it") {
    const long live = ekiden_test::live_allocation_count();
    {
        auto owner = std::make_shared<own_future>();
        auto made = submit(callable_that_owns(owner));
        owner->queued = made.queued;
        owner->result = std::move(made.result);
        future<int>& own = owner->result;
        owner.reset();
        CHECK(own.cancel());
    }
    CHECK(ekiden_test::live_allocation_count() == live);
}

TEST_CASE("A callable that owns its own future can run and be abandoned") {
    const long live = ekiden_test::live_allocation_count();
    for (const bool runs : {true, false}) {
        auto owner = std::make_shared<own_future>();
        auto made = submit(callable_that_owns(owner));
        owner->result = std::move(made.result);
        owner.reset();
        if (runs)
            made.queued->run();
        else
            made.queued->abandon();
    }
    CHECK(ekiden_test::live_allocation_count() == live);
}

#include <ekiden/context/thread_context.hpp>
#include <ekiden/future/promise.hpp>

#include <tests/unit/effort.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <thread>
#include <utility>

using ekiden::completion;
using ekiden::promise;
using ekiden::promise_state;
namespace recycler = ekiden::recycler;
namespace sys = ekiden::sys;

namespace {

/// A completion with one reference, for whoever completes.
struct own_state {
    promise_state<int>* state = recycler::create<promise_state<int>>();

    void complete(int value) {
        if (!state->claim()) FAIL("claimed before");
        state->set_from([=] { return value; });
        state->complete(1);
    }
};

/// Counts the calls of a continuation.
struct callee {
    std::atomic<int> calls{0};
    static void call(void* self) noexcept { static_cast<callee*>(self)->calls.fetch_add(1); }
    void wait() const {
        while (calls.load() == 0) std::this_thread::yield();
    }
};

} // namespace

TEST_CASE("A completion is claimed once") {
    own_state here;
    CHECK(here.state->claim());
    CHECK_FALSE(here.state->claim());
    CHECK_FALSE(here.state->is_ready());
    here.state->set_broken_promise();
    here.state->complete(1);
}

TEST_CASE("A continuation is called once by whoever completes") {
    own_state here;
    here.state->retain();
    callee then;
    completion::continuation own(&callee::call, &then);
    REQUIRE(here.state->attach(own));
    CHECK(then.calls.load() == 0);
    std::thread([&] { here.complete(3); }).join();
    CHECK(then.calls.load() == 1);
    CHECK_FALSE(here.state->detach(own));
    CHECK(here.state->take() == 3);
    here.state->release();
    CHECK(then.calls.load() == 1);
}

TEST_CASE("A continuation that comes too late is refused and not called") {
    own_state here;
    here.state->retain();
    callee then;
    here.complete(3);
    completion::continuation own(&callee::call, &then);
    CHECK_FALSE(here.state->attach(own));
    CHECK_FALSE(here.state->detach(own));
    CHECK(then.calls.load() == 0);
    here.state->release();
}

TEST_CASE("A continuation that was detached is not called and another one may follow") {
    own_state here;
    here.state->retain();
    callee first;
    callee second;
    completion::continuation one(&callee::call, &first);
    CHECK(here.state->attach(one));
    CHECK(here.state->detach(one));
    completion::continuation other(&callee::call, &second);
    CHECK(here.state->attach(other));
    here.complete(1);
    CHECK(first.calls.load() == 0);
    CHECK(second.calls.load() == 1);
    here.state->release();
}

TEST_CASE("All continuations are called but for those that were detached") {
    for (unsigned detached = 0; detached != 16; ++detached) { // each subset of four
        own_state here;
        callee then[4];
        completion::continuation attached[] = {{&callee::call, &then[0]},
                                               {&callee::call, &then[1]},
                                               {&callee::call, &then[2]},
                                               {&callee::call, &then[3]}};
        here.state->retain();
        for (auto& each : attached) REQUIRE(here.state->attach(each));
        for (unsigned i = 0; i != 4; ++i) {
            const unsigned at = (i + detached) % 4; // in different orders
            if ((detached >> at & 1) != 0) REQUIRE(here.state->detach(attached[at]));
        }
        here.complete(1);
        for (unsigned i = 0; i != 4; ++i) CHECK(then[i].calls == ((detached >> i & 1) != 0 ? 0 : 1));
        CHECK_FALSE(here.state->detach(attached[0]));
        CHECK_FALSE(here.state->attach(attached[0]));
        here.state->release();
    }
}

TEST_CASE("Continuations of several threads come and go while the result comes") {
    const int rounds = ekiden_test::rounds(2000);
    constexpr int threads = 3;
    for (int round = 0; round != rounds; ++round) {
        own_state here;
        for (int t = 0; t != threads; ++t) here.state->retain();
        std::atomic<int> wrong{0};
        std::latch start(threads);
        const auto wait = [&](int t) {
            start.arrive_and_wait();
            for (int turn = 0; !here.state->is_ready(); ++turn) {
                callee then;
                completion::continuation mine(&callee::call, &then);
                if (!here.state->attach(mine)) {
                    if (then.calls.load() != 0) ++wrong;
                    break;
                }
                if (turn % threads == t || !here.state->detach(mine))
                    then.wait();
                else if (then.calls.load() != 0)
                    ++wrong;
            }
            here.state->release();
        };
        std::thread one(wait, 0);
        std::thread two(wait, 1);
        std::thread producer([&] {
            start.arrive_and_wait();
            for (int spin = round % 64; spin != 0; --spin) sys::spin_hint();
            here.complete(round);
        });
        one.join();
        two.join();
        producer.join();
        CHECK(here.state->take() == round);
        here.state->release();
        REQUIRE(wrong == 0);
    }
}

TEST_CASE("A continuation may give up the last reference") {
    struct last {
        promise_state<std::shared_ptr<int>>* state = recycler::create<promise_state<std::shared_ptr<int>>>();
        static void end(void* self) noexcept { static_cast<last*>(self)->state->release(); }
    } here;
    const auto witness = std::make_shared<int>(1);
    here.state->retain();
    completion::continuation own(&last::end, &here);
    REQUIRE(here.state->attach(own));
    REQUIRE(here.state->claim());
    here.state->set_from([&] { return witness; });
    CHECK(witness.use_count() == 2);
    here.state->complete(1);
    CHECK(witness.use_count() == 1);
}

TEST_CASE(
    "A continuation is either attached in time and called once or refused or detached and never called") {
    const int rounds = ekiden_test::rounds(50'000);
    std::atomic<promise_state<int>*> offered{nullptr};
    std::thread producer([&] {
        for (int i = 0; i != rounds; ++i) {
            promise_state<int>* state = nullptr;
            while ((state = offered.exchange(nullptr)) == nullptr) std::this_thread::yield();
            for (int spin = i % 8; spin != 0; --spin) sys::spin_hint();
            (void)state->claim();
            state->set_from([=] { return i; });
            state->complete(1);
        }
    });
    int wrong = 0;
    for (int i = 0; i != rounds; ++i) {
        callee first;
        callee second;
        auto* const state = recycler::create<promise_state<int>>();
        state->retain();
        offered.store(state);
        for (int spin = i % 32; spin != 0; --spin) sys::spin_hint();
        completion::continuation own(&callee::call, &first);
        if (state->attach(own)) {
            if (i % 2 == 0 && state->detach(own)) { // as a waiter that gives up, and comes back
                completion::continuation again(&callee::call, &second);
                if (state->attach(again)) second.wait();
                wrong += first.calls.load() != 0;
            } else {
                first.wait();
            }
        }
        while (!state->is_ready()) std::this_thread::yield();
        wrong += first.calls.load() + second.calls.load() > 1;
        wrong += state->take() != i;
        state->release();
    }
    producer.join();
    CHECK(wrong == 0);
}

TEST_CASE("A sleeping waiter and the end of the state in another thread do not disturb each other") {
    const int rounds = ekiden_test::rounds(5000);
    for (int i = 0; i != rounds; ++i) {
        own_state here;
        here.state->retain();
        std::thread producer([&] {
            if (i % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
            here.complete(i);
        });
        (void)here.state->block(nullptr);
        if (here.state->take() != i) FAIL("another result");
        here.state->release(); // perhaps before the producer has woken us
        producer.join();
    }
}

TEST_CASE("A thread with a way of its own to wait uses it") {
    struct strategy final : ekiden::thread_role {
        strategy() : thread_role(nullptr) {}
        int calls = 0;
        bool with_deadline = false;
        promise<int> source;
        bool wait_for(completion& awaited, const ekiden::wait_limit* limit) noexcept override {
            ++calls;
            with_deadline = limit != nullptr;
            if (!with_deadline) source.set_value(5);
            return awaited.is_ready();
        }
        bool begin_blocking(const char*) noexcept override { return false; }
        void end_blocking() noexcept override {}
    } own;
    std::thread([&] {
        const ekiden::role_scope scope(own);
        auto result = own.source.get_future();
        CHECK_FALSE(result.wait_for(std::chrono::hours(1)));
        CHECK(own.calls == 1);
        CHECK(own.with_deadline);
        result.wait();
        CHECK(own.calls == 2);
        CHECK_FALSE(own.with_deadline);
        CHECK(result.get() == 5); // ready: no need to wait
        CHECK(own.calls == 2);
    }).join();
}

TEST_CASE("A wait that runs nothing says that the thread blocks and sleeps") {
    struct role final : ekiden::thread_role {
        role() : thread_role(nullptr) {}
        bool wait_for(completion& awaited, const ekiden::wait_limit*) noexcept override {
            ++waits;
            return awaited.is_ready();
        }
        bool begin_blocking(const char*) noexcept override {
            ++begun;
            return true;
        }
        void end_blocking() noexcept override { ++ended; }

        int waits = 0;
        std::atomic<int> begun{0};
        int ended = 0;
    } here;
    promise<int> source;
    auto result = source.get_future();
    std::thread waiter([&] {
        const ekiden::role_scope scope(here);
        CHECK(result.get(ekiden::blocking) == 5);
    });
    while (here.begun == 0) std::this_thread::yield();
    source.set_value(5);
    waiter.join();
    CHECK(here.waits == 0);
    CHECK(here.begun == 1);
    CHECK(here.ended == 1);

    promise<void> done;
    auto ready = done.get_future();
    done.set_value();
    const ekiden::role_scope scope(here);
    ready.get(ekiden::blocking);
    CHECK(here.begun == 1); // nothing to wait for
}

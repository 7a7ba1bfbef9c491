// promise, future and the state they share: completion against wait, timeout, cancel, continuation and the
// end of either side.
#include <check/engine/model.hpp>
#include <ekiden/future/promise.hpp>
#include <ekiden/future/shared_future.hpp>
#include <ekiden/sys/thread.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <stop_token>
#include <system_error>

namespace completion_models {

namespace {

using namespace ekiden;

/// A value whose accesses the checker orders.
struct watched {
    explicit watched(int v) : value(v) {}
    watched(watched&& other) noexcept : value(other.value.read()) {}
    sys::cell<int> value;
};

/// Takes note of its own end.
struct witness {
    explicit witness(int& ends) : ends_(&ends) {}
    witness(witness&& other) noexcept : ends_(std::exchange(other.ends_, nullptr)) {}
    ~witness() {
        if (ends_ != nullptr) ++*ends_;
    }
    int* ends_;
};

} // namespace

EKIDEN_MODEL(future_get, .about = "the result is there, whole, when get returns", .preemptions = 4) {
    promise<watched> p;
    future<watched> f = p.get_future();
    sys::thread producer([&] {
        promise<watched> mine(std::move(p));
        mine.set_value(watched(7));
    });
    check::that(f.get().value.read() == 7, "the value");
    producer.join();
}

EKIDEN_MODEL(future_poll, .about = "the result is there, whole, when is_ready says so", .preemptions = 4) {
    promise<watched> p;
    future<watched> f = p.get_future();
    sys::thread producer([&] { p.set_value(watched(7)); });
    if (f.is_ready()) check::that(f.get().value.read() == 7, "the value");
    producer.join();
}

EKIDEN_MODEL(future_dropped, .about = "the last of promise and future frees the state", .preemptions = 5) {
    int ends = 0;
    {
        promise<witness> p;
        future<witness> f = p.get_future();
        sys::thread producer([&] {
            promise<witness> mine(std::move(p));
            mine.set_value(witness(ends));
        });
        {
            const future<witness> gone(std::move(f));
        }
        producer.join();
    }
    check::that(ends == 1, "the value ends once");
}

EKIDEN_MODEL(future_broken_promise, .about = "a promise that goes without a result says so",
             .preemptions = 4) {
    promise<int> p;
    future<int> f = p.get_future();
    sys::thread producer([&] { const promise<int> gone(std::move(p)); });
    bool broken = false;
    try {
        (void)f.get();
    } catch (const std::future_error&) {
        broken = true;
    }
    check::that(broken, "get throws broken_promise");
    producer.join();
}

EKIDEN_MODEL(future_timed_wait, .about = "the deadline passes while the result comes", .preemptions = 4) {
    promise<watched> p;
    future<watched> f = p.get_future();
    sys::thread producer([&] { p.set_value(watched(5)); });
    if (f.wait_for(std::chrono::milliseconds(2))) check::that(f.is_ready(), "true only when ready");
    check::that(f.get().value.read() == 5, "and the value still comes");
    producer.join();
}

EKIDEN_MODEL(future_wait_gives_up,
             .about = "a wait that can be stopped gives up while the result comes, and its event has gone",
             .preemptions = 3) {
    promise<watched> p;
    auto f = std::make_unique<future<watched>>(p.get_future());
    sys::thread producer([&] {
        promise<watched> mine(std::move(p));
        mine.set_value(watched(5));
    });
    const std::stop_source stop;
    if (f->wait(wait_limit::after(std::chrono::milliseconds(2)).with(stop.get_token())))
        check::that(f->get().value.read() == 5, "the value is there when the wait says so");
    f.reset();
    producer.join();
}

EKIDEN_MODEL(future_cancel_against_run, .about = "a task is run or canceled, never both, and ends once",
             .preemptions = 4) {
    int ran = 0;
    int ends = 0;
    bool canceled = false;
    {
        auto call = [&ran, w = witness(ends)] { return ++ran; };
        auto* const state = recycler::create<task_state<int, decltype(call)>>(std::move(call));
        auto f = detail::future_access::make<future<int>>(state);
        sys::thread worker([state] { state->run(); });
        canceled = f.cancel();
        bool threw = false;
        try {
            (void)f.get();
        } catch (const std::system_error&) {
            threw = true;
        }
        check::that(threw == canceled, "get reports what cancel has said");
        worker.join();
    }
    check::that(ran == (canceled ? 0 : 1), "run or canceled");
    check::that(ends == 1, "the callable ends once");
}

EKIDEN_MODEL(future_abandon_against_cancel, .about = "stop() and cancel() at the same time",
             .preemptions = 4) {
    int ends = 0;
    {
        auto call = [w = witness(ends)] {};
        auto* const state = recycler::create<task_state<void, decltype(call)>>(std::move(call));
        auto f = detail::future_access::make<future<void>>(state);
        sys::thread worker([state] { state->abandon(); });
        (void)f.cancel();
        f.wait();
        worker.join();
    }
    check::that(ends == 1, "the callable ends once");
}

EKIDEN_MODEL(completion_attach_against_complete, .about = "a continuation is called once, or attach says no",
             .preemptions = 5) {
    auto* const state = recycler::create<promise_state<watched>>();
    state->retain();
    sys::cell<int> called{0};
    sys::thread producer([state] {
        check::that(state->claim(), "nobody else claims");
        state->set_from([] { return watched(1); });
        state->complete(1);
    });
    completion::continuation counts(
        [](void* argument) noexcept {
            auto& count = *static_cast<sys::cell<int>*>(argument);
            count.write(count.read() + 1);
        },
        &called);
    const bool attached = state->attach(counts);
    if (!attached) check::that(state->take().value.read() == 1, "ready at once");
    producer.join();
    check::that(called.read() == (attached ? 1 : 0), "called if attached");
    state->release();
}

EKIDEN_MODEL(completion_detach_against_complete, .about = "after detach the continuation is not called",
             .preemptions = 5) {
    auto* const state = recycler::create<promise_state<int>>();
    state->retain();
    struct sleeper {
        sys::atomic<bool> called{false};
    };
    auto waiting = std::make_unique<sleeper>();
    sys::thread producer([state] {
        (void)state->claim();
        state->set_from([] { return 1; });
        state->complete(1);
    });
    const auto wake = [](void* argument) noexcept {
        static_cast<sleeper*>(argument)->called.store(true, sys::release);
    };
    completion::continuation own(wake, waiting.get());
    if (state->attach(own) && !state->detach(own)) {
        while (!waiting->called.load(sys::acquire)) sys::yield();
    }
    waiting.reset(); // nobody may touch it any more
    producer.join();
    state->release();
}

EKIDEN_MODEL(completion_two_continuations,
             .about = "each of two that wait is called once, or has detached itself", .preemptions = 2) {
    auto* const state = recycler::create<promise_state<watched>>();
    state->retain();
    state->retain();
    struct waiter {
        sys::atomic<bool> called{false};
        completion::continuation mine{
            [](void* self) noexcept { static_cast<waiter*>(self)->called.store(true, sys::release); }, this};
    };
    const auto wait = [state](bool gives_up) {
        auto here = std::make_unique<waiter>();
        if (state->attach(here->mine) && !(gives_up && state->detach(here->mine))) {
            while (!here->called.load(sys::acquire)) sys::yield();
            check::that(state->is_ready(), "called when ready");
        }
        here.reset(); // nobody may touch it any more
        state->release();
    };
    sys::thread other([&] { wait(true); });
    sys::thread producer([state] {
        (void)state->claim();
        state->set_from([] { return watched(1); });
        state->complete(1);
    });
    wait(false);
    other.join();
    producer.join();
}

EKIDEN_MODEL(shared_future_two_waiters, .about = "two that sleep for one result both wake up and see it",
             .preemptions = 2, .processors = 1) {
    promise<watched> p;
    const shared_future<watched> one = p.get_future();
    sys::thread producer([&] {
        promise<watched> mine(std::move(p));
        mine.set_value(watched(7));
    });
    sys::thread other([two = one] { check::that(two.get().value.read() == 7, "the value"); });
    check::that(one.get().value.read() == 7, "the value");
    producer.join();
    other.join();
}

EKIDEN_MODEL(promise_failed_copy,
             .about = "a setter that fails makes way for another one, and leaves no race", .preemptions = 4) {
    struct fragile {
        fragile(sys::cell<int>& seen, bool fails) : seen_(&seen), fails_(fails) {}
        fragile(const fragile& other) : seen_(other.seen_), fails_(other.fails_) {
            seen_->write(seen_->read() + 1); // one after the other
            if (fails_) throw 1;
        }
        sys::cell<int>* seen_;
        bool fails_;
    };
    sys::cell<int> copies{0};
    promise<fragile> p;
    future<fragile> f = p.get_future();
    const fragile bad(copies, true);
    const fragile good(copies, false);
    bool failed = false;
    sys::thread other([&] {
        try {
            p.set_value(bad);
        } catch (const int) {
            failed = true;
        } catch (const std::future_error&) {
        }
    });
    p.set_value(good);
    check::that(f.is_ready(), "set");
    other.join();
    check::that(copies.read() == (failed ? 2 : 1), "copies");
}

EKIDEN_MODEL(completion_two_producers, .about = "of two that try to set the result one wins",
             .preemptions = 3) {
    promise<int> p;
    future<int> f = p.get_future();
    int wins = 0;
    const auto set = [&](int value) {
        try {
            p.set_value(value);
            ++wins;
        } catch (const std::future_error&) {
        }
    };
    sys::thread first(set, 1);
    sys::thread second(set, 2);
    const int got = f.get();
    check::that(got == 1 || got == 2, "one of the two");
    first.join();
    second.join();
    check::that(wins == 1, "one wins");
}

} // namespace completion_models

#include "stress.hpp"

#include <ekiden/sync/detail/state_lock.hpp>

#include <tests/unit/asleep.hpp>

#include <doctest/doctest.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

using namespace std::chrono_literals;
using ekiden::async_waiter;
using ekiden::attempt;
using ekiden::conduct;
using ekiden::state_lock;
using ekiden::state_rules;
using ekiden::state_value;
using ekiden::wait_limit;
using ekiden::waiter;

namespace {

constexpr state_lock::mask bit(unsigned state) { return state_lock::mask{1} << state; }

/// Overtaking for no time at all after the first failed try, to reach hand-overs often.
constexpr state_rules impatient{.hand_over_after = std::chrono::nanoseconds(1)};

/// state 0: open, 1: closed because a thread waits for state 2.
std::uint32_t settle_open_closed(state_value v, std::uint64_t queued) noexcept {
    if (v.state > 1) return v.state;
    return (queued & bit(2)) != 0 ? 1 : 0;
}
std::uint32_t close_open(state_value v, std::uint64_t arriving) noexcept {
    return v.state == 0 && (arriving & bit(2)) != 0 ? 1 : v.state;
}
constexpr state_rules settling{.settle = settle_open_closed, .close = close_open};

} // namespace

TEST_CASE("enter admits a caller whose mask holds the state, and exit sets the next one") {
    state_lock lock({.state = 62, .payload = 5});
    CHECK_FALSE(lock.try_enter(bit(0)));
    REQUIRE(lock.try_enter(bit(62)));
    CHECK(lock.value() == state_value{62, 5});
    CHECK_FALSE(lock.try_enter(state_lock::any_state));
    lock.exit(3);
    REQUIRE(lock.try_enter(bit(3)));
    CHECK(lock.value() == state_value{3, 5});
    lock.exit({0, state_lock::max_payload});
    lock.enter(bit(0));
    CHECK(lock.value() == state_value{0, state_lock::max_payload});
    lock.exit(0);
}

TEST_CASE("apply changes the value in one step, try_apply says why it did not") {
    state_lock lock;
    const auto to_one = [](state_value v) noexcept { return state_value{1, v.payload + 1}; };
    lock.apply(bit(0), to_one);
    CHECK(lock.value() == state_value{1, 1});
    CHECK(lock.try_apply(bit(0), to_one) == attempt::refused);
    CHECK(lock.try_apply(bit(1), to_one) == attempt::done);
    lock.enter(bit(1));
    CHECK(lock.try_apply(bit(1), to_one) == attempt::busy);
    CHECK(lock.try_run(bit(1), to_one) == attempt::busy);
    lock.exit(2);
    CHECK(lock.passes(bit(2)));
    CHECK_FALSE(lock.passes(bit(1)));
}

TEST_CASE("a wait gives up at its deadline, and at once for a deadline in the past") {
    state_lock lock;
    const auto start = std::chrono::steady_clock::now();
    CHECK_FALSE(lock.enter(bit(1), wait_limit::after(20ms)));
    CHECK(std::chrono::steady_clock::now() - start >= 20ms);
    CHECK_FALSE(lock.enter(bit(1), wait_limit::after(-1h)));
    CHECK_FALSE(lock.enter(bit(1), wait_limit::until(std::chrono::steady_clock::time_point::min())));
    CHECK_FALSE(lock.enter(bit(1), wait_limit::until(std::chrono::system_clock::now() + 1ms)));
    CHECK(lock.enter(bit(0), wait_limit::after(std::chrono::hours::max())));
    // Somebody is inside: the deadline still holds.
    std::thread other([&] { CHECK_FALSE(lock.enter(bit(0), wait_limit::after(10ms))); });
    other.join();
    lock.exit(0);
    CHECK(lock.try_enter(bit(0)));
    lock.exit(0);
}

TEST_CASE("a wait gives up at a stop request, before or while it waits") {
    state_lock lock;
    std::stop_source stop;
    std::thread other =
        ekiden_test::start_asleep([&] { CHECK_FALSE(lock.enter(bit(1), wait_limit(stop.get_token()))); });
    stop.request_stop();
    other.join();
    CHECK_FALSE(lock.enter(bit(1), wait_limit(stop.get_token())));
    CHECK_FALSE(lock.pass(bit(1), wait_limit::after(1h).with(stop.get_token())));
}

TEST_CASE("the first waiter in queue order whose mask holds the new state gets the lock") {
    state_lock lock({}, state_lock::strict);
    lock.enter(bit(0));
    std::vector<int> order;
    std::vector<std::thread> threads;
    const auto wait_for = [&](int name, unsigned state, unsigned next) {
        threads.push_back(ekiden_test::start_asleep([&, name, state, next] {
            lock.enter(bit(state));
            order.push_back(name);
            lock.exit(next);
        }));
    };
    wait_for(1, 2, 1);
    wait_for(2, 1, 1);
    wait_for(3, 1, 0);
    wait_for(4, 2, 1);
    lock.exit(2); // 1, then state 1: 2, 3
    threads[0].join();
    threads[1].join();
    threads[2].join();
    CHECK(order == std::vector{1, 2, 3});
    lock.enter(bit(0));
    lock.exit(2);
    threads[3].join();
    CHECK(order == std::vector{1, 2, 3, 4});
}

TEST_CASE("the releaser runs the transitions of waiters, in order, and all take effect in one step") {
    state_lock lock;
    lock.enter(bit(0));
    const std::thread::id main = std::this_thread::get_id();
    std::vector<std::thread> threads;
    std::vector<int> order;
    for (int i = 0; i < 5; ++i) {
        threads.push_back(ekiden_test::start_asleep([&, i] {
            lock.run(bit(1), [&](state_value v) noexcept {
                order.push_back(i);
                CHECK(std::this_thread::get_id() == main);
                return v;
            });
        }));
    }
    lock.exit(1);
    for (auto& t : threads) t.join();
    CHECK(order == std::vector{0, 1, 2, 3, 4});
}

TEST_CASE("waiting turns into a state, and a canceled wait turns it back and leaves no trace") {
    state_lock lock({}, settling);
    const auto stay = [](state_value v) noexcept { return v; };
    std::stop_source stop;
    std::thread waiting([&] { CHECK_FALSE(lock.enter(bit(2), wait_limit(stop.get_token()))); });
    while (lock.passes(bit(0))) std::this_thread::yield();
    CHECK(lock.passes(bit(1)));
    CHECK(lock.try_apply(bit(0), stay) == attempt::refused);
    std::thread second =
        ekiden_test::start_asleep([&] { lock.apply(bit(0), stay); }); // until the first gives up
    stop.request_stop();
    waiting.join();
    second.join();
    CHECK(lock.passes(bit(0)));
}

TEST_CASE("threads that take turns by state alternate exactly, under every rule") {
    const state_rules* const all[] = {&state_lock::overtaking, &state_lock::strict, &impatient};
    for (const state_rules* rules : all) {
        constexpr int states = 3;
        constexpr int rounds = 4000;
        state_lock lock({}, *rules);
        std::uint64_t count = 0; // guarded by the lock
        bool wrong = false;
        stress::together(2 * states, [&](int i, stress::noise& noise) {
            const unsigned mine = static_cast<unsigned>(i % states);
            for (int r = 0; r < rounds; ++r) {
                const auto step = [&]() {
                    wrong |= count % states != mine;
                    ++count;
                    return (mine + 1) % states;
                };
                if (i < states) {
                    lock.enter(bit(mine));
                    noise();
                    lock.exit(step());
                } else {
                    lock.run(bit(mine),
                             [&](state_value v) noexcept { return state_value{step(), v.payload}; });
                }
                noise();
            }
        });
        CHECK_FALSE(wrong);
        CHECK(count == 2 * states * rounds);
    }
}

TEST_CASE("waits that give up lose no wake-up of others") {
    const state_rules* const all[] = {&state_lock::overtaking, &state_lock::strict, &impatient};
    for (const state_rules* rules : all) {
        state_lock lock({}, *rules);
        int inside = 0;
        std::uint64_t sum = 0;
        std::atomic<std::uint64_t> granted{0};
        std::atomic<bool> wrong{false};
        stress::together(8, [&](int i, stress::noise& noise) {
            for (int r = 0; r < 1500; ++r) {
                bool got = true;
                std::stop_source stop;
                if (i < 2)
                    lock.enter(bit(0)); // never gives up: hangs if a wake-up is lost
                else if (i < 6)
                    got = lock.enter(bit(0), wait_limit::after(std::chrono::microseconds(noise.below(60))));
                else {
                    std::thread stopper;
                    if (r % 16 == 0) stopper = std::thread([&] { stop.request_stop(); });
                    got = lock.enter(bit(0), wait_limit::after(20us).with(stop.get_token()));
                    if (stopper.joinable()) stopper.join();
                }
                if (!got) continue;
                if (++inside != 1) wrong = true;
                noise();
                ++sum;
                granted.fetch_add(1);
                --inside;
                lock.exit(0);
                noise();
            }
        });
        CHECK_FALSE(wrong);
        CHECK(sum == granted);
        CHECK(lock.try_enter(bit(0)));
    }
}

TEST_CASE("waits for a state that only waiting brings about survive cancellation") {
    state_lock lock({}, settling);
    std::atomic<int> inside{0};
    std::atomic<bool> wrong{false};
    std::atomic<int> readers{3};
    // The state stays 2 if all threads that wait for it have given up. This function makes it 0 again.
    const auto bring_back = [&lock] {
        if (lock.try_enter(bit(2))) lock.exit(0);
    };
    stress::together(6, [&](int i, stress::noise& noise) {
        for (int r = 0; r < 3000; ++r) {
            if (i < 3) {
                // "readers": in state 0 only, and away again
                lock.apply(
                    bit(0), [](state_value v) noexcept { return state_value{v.state, v.payload + 1}; },
                    conduct::opens);
                inside.fetch_add(1);
                noise();
                inside.fetch_sub(1);
                lock.apply(bit(0) | bit(1), [](state_value v) noexcept {
                    return state_value{v.payload == 1 && v.state == 1 ? 2U : v.state, v.payload - 1};
                });
            } else if (lock.enter(bit(2), wait_limit::after(std::chrono::microseconds(noise.below(300))))) {
                if (inside != 0) wrong = true;
                lock.exit(0);
            } else if (i == 3) {
                bring_back();
            }
        }
        // The others may give up later.
        for (readers -= i < 3 ? 1 : 0; i == 3 && readers != 0; std::this_thread::yield()) bring_back();
    });
    CHECK_FALSE(wrong);
}

namespace {

/// An executor with one thread, as a coroutine's would be.
class one_thread {
public:
    void post(std::function<void()> f) {
        {
            std::lock_guard guard(mutex_);
            work_.push_back(std::move(f));
        }
        changed_.notify_one();
    }
    ~one_thread() {
        post({});
        thread_.join();
    }

private:
    void run() {
        for (;;) {
            std::unique_lock guard(mutex_);
            changed_.wait(guard, [&] { return !work_.empty(); });
            auto f = std::move(work_.front());
            work_.pop_front();
            guard.unlock();
            if (!f) return;
            f();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> work_;
    std::thread thread_{[this] { run(); }};
};

/// Counts up in its turns without ever blocking its thread.
struct async_turns {
    state_lock& lock;
    one_thread& executor;
    std::uint64_t& count;
    unsigned mine;
    unsigned states;
    int rounds;
    std::atomic<int>& done;
    std::atomic<bool>& wrong;
    std::optional<async_waiter> waiting{};
    bool inside = false;

    void go() {
        for (;;) {
            if (inside) {
                if (count % states != mine) wrong = true;
                ++count;
                inside = false;
                lock.exit((mine + 1) % states);
                if (--rounds == 0) {
                    done.fetch_add(1);
                    return;
                }
            }
            waiting.emplace();
            (*waiting)->mask = bit(mine);
            (*waiting)->context = this;
            (*waiting)->resume = [](waiter& w) noexcept {
                auto& self = *static_cast<async_turns*>(w.context);
                self.executor.post([&self] { self.go(); });
            };
            inside = true;
            if (!lock.start(**waiting)) return;
        }
    }
};

} // namespace

TEST_CASE("waiters that are not threads stand in the same queue as threads") {
    constexpr unsigned states = 2;
    constexpr int rounds = 3000;
    state_lock lock;
    std::uint64_t count = 0;
    std::atomic<int> done{0};
    std::atomic<bool> wrong{false};
    {
        one_thread a;
        one_thread b;
        async_turns first{lock, a, count, 0, states, rounds, done, wrong};
        async_turns second{lock, b, count, 1, states, rounds, done, wrong};
        async_turns third{lock, b, count, 0, states, rounds, done, wrong};
        for (auto* t : {&first, &second, &third}) t->executor.post([t] { t->go(); });
        stress::together(3, [&](int i, stress::noise& noise) {
            const unsigned mine = static_cast<unsigned>(i != 0);
            for (int r = 0; r < rounds; ++r) {
                lock.enter(bit(mine));
                if (count % states != mine) wrong = true;
                ++count;
                noise();
                lock.exit(1 - mine);
            }
        });
        while (done < 3) std::this_thread::yield();
    }
    CHECK_FALSE(wrong);
    CHECK(count == 6 * rounds);
}

TEST_CASE("a wait that is not a thread's can be taken back until it is resumed") {
    state_lock lock;
    async_waiter w;
    int resumed = 0;
    w->mask = bit(1);
    w->context = &resumed;
    w->resume = [](waiter& who) noexcept { ++*static_cast<int*>(who.context); };
    REQUIRE_FALSE(lock.start(*w));
    CHECK(lock.cancel(*w));
    lock.enter(bit(0));
    lock.exit(1);
    CHECK(resumed == 0);
    lock.enter(bit(1));
    async_waiter x;
    x->mask = bit(1);
    x->context = &resumed;
    x->resume = w->resume;
    REQUIRE_FALSE(lock.start(*x));
    lock.exit(1);
    CHECK(resumed == 1);
    CHECK_FALSE(lock.cancel(*x));
    lock.exit(0); // the resumed one's
    CHECK(lock.try_enter(bit(0)));
}

TEST_CASE("all that wait to pass are released together, round after round") {
    constexpr int threads = 6;
    constexpr unsigned rounds = 2000;
    state_lock lock;
    std::atomic<unsigned> arrived{0};
    std::atomic<bool> wrong{false};
    stress::together(threads, [&](int, stress::noise& noise) {
        for (unsigned r = 0; r < rounds; ++r) {
            arrived.fetch_add(1);
            const unsigned next = (r + 1) % 2;
            bool last = false;
            lock.apply(bit(r % 2), [&](state_value v) noexcept {
                last = v.payload + 1 == threads;
                return last ? state_value{next, 0} : state_value{v.state, v.payload + 1};
            });
            if (!last) lock.pass(bit(next));
            if (arrived.load() < (r + 1) * threads) wrong = true;
            noise();
        }
    });
    CHECK_FALSE(wrong);
}

TEST_CASE("arrival numbers follow the order of entry and wrap") {
    static constexpr state_rules numbered{.hand_over_after = std::chrono::nanoseconds(0),
                                          .counts_arrivals = true};
    state_lock lock({0, state_lock::max_payload - 5}, numbered);
    std::uint32_t expected = state_lock::max_payload - 5;
    bool wrong = false;
    stress::together(4, [&](int, stress::noise& noise) {
        for (int r = 0; r < 6000; ++r) {
            const std::uint32_t mine = lock.enter_numbered(bit(0)).number;
            wrong |= mine != expected;
            expected = (expected + 1) & state_lock::max_payload;
            noise();
            lock.exit(0);
            noise();
        }
    });
    CHECK_FALSE(wrong);
    CHECK(lock.longest_queue() >= 1);
    CHECK(lock.longest_queue() <= 3);
}

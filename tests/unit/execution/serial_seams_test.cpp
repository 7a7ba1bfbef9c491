// Where strands and lanes meet what goes on around them: their own end, the context's end, exceptions, fork,
// the end of a thread.
#include "../child_process.hpp"
#include "../effort.hpp"
#include "held_worker.hpp"
#include <tests/unit/posix.hpp>

#include <ekiden/execution/strand.hpp>
#include <ekiden/execution/then.hpp>
#include <ekiden/future/promise.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <doctest/doctest.h>
#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace ekiden;
using ekiden_test::held_worker;
using pool_strand = strand<thread_pool::executor_type>;
using pool_lanes = lanes<std::uint64_t, thread_pool::executor_type>;

/// Functions that were run, and those that have gone, run or not.
struct ran_and_gone {
    std::atomic<int> ran{0};
    std::atomic<int> gone{0};

    auto function() {
        return [this, witness = std::shared_ptr<void>(nullptr, [this](void*) { gone.fetch_add(1); })] {
            ran.fetch_add(1);
        };
    }
};

/// Lanes that are used like a strand.
template <std::size_t Capacity>
class in_a_lane {
public:
    explicit in_a_lane(const thread_pool::executor_type& inner)
        : lanes_(inner, {.lane_capacity = Capacity, .shards = 1}) {}
    template <class F>
    bool post(F f) const {
        return lanes_.post(1, std::move(f));
    }

private:
    pool_lanes lanes_;
};
using in_one_lane = in_a_lane<0>;
using in_one_bounded_lane = in_a_lane<1000000>; // never full

/// Posts to a strand and to lanes when its thread ends.
struct late_poster {
    std::function<void()> last_words;
    ~late_poster() {
        if (last_words) last_words();
    }
};
thread_local late_poster poster; // not in a function: there only the thread that passes by would end it

} // namespace

// ---- their own end

TEST_CASE("A strand may lose its last handle inside of its own function, and what was posted still runs") {
    for (int round = 0; round != ekiden_test::rounds(3000); ++round) {
        ran_and_gone all;
        {
            thread_pool pool({.threads = 1});
            auto s = std::make_unique<pool_strand>(pool.get_executor());
            auto* const here = s.get();
            here->post([&all, s = std::move(s)]() mutable { // may be gone before post() returns
                s->post(all.function());
                s->dispatch(all.function());
                s.reset();
            });
        }
        CHECK(all.ran.load() == 2);
        CHECK(all.gone.load() == 2);
    }
}

TEST_CASE("The last handle of a strand may go on a thread outside while it runs") {
    thread_pool pool(2);
    ran_and_gone all;
    const int rounds = ekiden_test::rounds(3000);
    for (int round = 0; round != rounds; ++round) {
        auto s = std::make_unique<pool_strand>(pool.get_executor());
        s->post(all.function());
        std::thread foreign;
        if (round % 10 == 0) foreign = std::thread([last = std::move(*s)] { (void)last; });
        s.reset();
        if (foreign.joinable()) foreign.join();
    }
    pool.wait_idle();
    CHECK(all.ran.load() == rounds);
}

TEST_CASE("Lanes may end inside of a function of theirs, and what was posted still runs") {
    for (int round = 0; round != ekiden_test::rounds(500); ++round) {
        ran_and_gone all;
        {
            thread_pool pool({.threads = 2});
            auto l = std::make_unique<pool_lanes>(pool.get_executor());
            for (std::uint64_t key = 0; key != 5; ++key) (void)l->post(key, all.function());
            pool.post([&pool, &all, l = std::move(l)]() mutable {
                const auto lane = l->get_executor(3);
                lane.post(all.function());
                lane.dispatch([&all, l = std::move(l)]() mutable {
                    (void)l->post(3, all.function());
                    l.reset();
                });
                pool.post(all.function());
            });
        }
        CHECK(all.ran.load() == 8);
        CHECK(all.gone.load() == 8);
    }
}

// ---- exceptions

TEST_CASE("An exception of a function goes to the pool, and strand and lane go on in order") {
    std::string caught;
    std::string order;
    {
        thread_pool pool(
            {.threads = 1, .on_unhandled_exception = [&](std::exception_ptr error, std::string_view) {
                 try {
                     std::rethrow_exception(error);
                 } catch (const std::runtime_error& e) {
                     caught += e.what();
                 }
             }});
        const strand s(pool.get_executor());
        const pool_lanes l(pool.get_executor());
        held_worker worker(pool);
        for (char c = 'a'; c != 'i'; ++c) {
            const auto function = [&order, c] {
                order += c;
                if (c % 3 == 0) throw std::runtime_error(std::string(1, c));
            };
            if (c < 'e')
                s.post(function);
            else
                (void)l.post(5, function);
        }
        worker.open();
        pool.wait_idle();
        CHECK(l.active() == 0);
        CHECK(s.submit([] { return 3; }).get() == 3);
        CHECK_THROWS_AS(l.get_executor(1).submit([] { throw std::logic_error("to the future"); }).get(),
                        std::logic_error);
    }
    std::string of_strand;
    std::string of_lane;
    for (const char c : order) (c < 'e' ? of_strand : of_lane) += c;
    CHECK(of_strand == "abcd");
    CHECK(of_lane == "efgh");
    CHECK(caught.size() == 2);
    CHECK(caught.find('c') != std::string::npos);
    CHECK(caught.find('f') != std::string::npos);
}

// ---- the context's end

TEST_CASE("A stopped pool abandons what is queued in strands and lanes, once, and they refuse from then on") {
    for (int round = 0; round != ekiden_test::rounds(300); ++round) {
        ran_and_gone all;
        int posted = 0;
        {
            thread_pool pool({.threads = 1});
            const strand s(pool.get_executor());
            const pool_lanes l(pool.get_executor());
            held_worker worker(pool);
            for (std::uint64_t i = 0; i != 10; ++i) {
                posted += s.post(all.function());
                posted += l.post(i % 3, all.function());
            }
            auto of_strand = s.submit([] {});
            auto of_lane = l.get_executor(1).submit([] {});
            CHECK(posted == 20);
            pool.stop();
            worker.open();
            CHECK_THROWS_AS(of_strand.get(), std::system_error);
            CHECK_THROWS_AS(of_lane.get(), std::system_error);
            while (all.gone.load() != 20) std::this_thread::yield();
            CHECK_FALSE(s.post(all.function()));
            CHECK_FALSE(l.post(1, all.function()));
            CHECK_FALSE(l.get_executor(2).post(all.function()));
            CHECK(all.gone.load() == 23);
            CHECK(l.active() == 0);
        }
        CHECK(all.ran.load() == 0);
        CHECK(all.gone.load() == 23);
    }
}

TEST_CASE("A pool that stops while others post: each function runs or is abandoned, once") {
    for (int round = 0; round != ekiden_test::rounds(300); ++round) {
        ran_and_gone all;
        std::atomic<int> made{0};
        {
            thread_pool pool({.threads = 2});
            const strand s(pool.get_executor());
            const pool_lanes l(pool.get_executor(), {.shards = 1});
            std::vector<std::thread> posters;
            for (int p = 0; p != 2; ++p) {
                posters.emplace_back([&] {
                    for (std::uint64_t i = 0; i != 500; ++i) {
                        made.fetch_add(2);
                        const bool in_strand = s.post(all.function());
                        const bool in_lane = l.post(i % 5, all.function());
                        if (!in_strand && !in_lane) break;
                    }
                });
            }
            if (round % 2 == 0) pool.pause();
            pool.stop();
            for (std::thread& t : posters) t.join();
        }
        CHECK(all.gone.load() == made.load());
    }
}

TEST_CASE("What is posted to strands and lanes of a paused pool runs when it goes on") {
    thread_pool pool(2);
    ran_and_gone all;
    const strand s(pool.get_executor());
    const pool_lanes l(pool.get_executor());
    pool.pause();
    for (std::uint64_t i = 0; i != 100; ++i) {
        s.post(all.function());
        (void)l.post(i, all.function());
    }
    CHECK(all.ran.load() == 0);
    pool.resume();
    pool.wait_idle();
    CHECK(all.ran.load() == 200);
}

TEST_CASE("A pool that is joined runs what is queued in strands and lanes, and what that posts") {
    ran_and_gone all;
    {
        thread_pool pool({.threads = 1});
        const strand s(pool.get_executor());
        const pool_lanes l(pool.get_executor());
        for (std::uint64_t i = 0; i != 200; ++i) {
            s.post([&, s] { s.post(all.function()); });
            (void)l.post(i % 7, [&, lane = l.get_executor(i % 5)] { lane.post(all.function()); });
        }
    }
    CHECK(all.ran.load() == 400);
}

TEST_CASE_TEMPLATE(
    "A function that is accepted behind a post from outside runs before join and wait_idle return", Serial,
    pool_strand, in_one_lane, in_one_bounded_lane) {
    for (int round = 0; round != ekiden_test::rounds(1000); ++round) {
        std::atomic<int> accepted{0};
        std::atomic<int> ran{0};
        thread_pool pool({.threads = 1});
        const Serial to(pool.get_executor());
        const auto post = [&] {
            if (to.post([&] { ran.fetch_add(1); })) accepted.fetch_add(1);
        };
        std::latch both(2);
        std::thread other([&] {
            both.arrive_and_wait();
            post();
        });
        both.arrive_and_wait();
        post();
        const int before = accepted.load(); // the post of this thread, and maybe the other one
        pool.wait_idle();
        CHECK(ran.load() >= before);
        post();
        pool.join();
        CHECK(ran.load() >= before + 1);
        other.join();
        CHECK(ran.load() == accepted.load());
    }
}

TEST_CASE_TEMPLATE(
    "While a pool is joined, functions of its tasks run, although posts from outside are refused", Serial,
    pool_strand, in_one_lane, in_one_bounded_lane) {
    std::atomic<bool> is_refused{false};
    std::atomic<bool> is_over{false};
    std::atomic<int> accepted{0};
    std::atomic<int> ran{0};
    thread_pool pool(2);
    const Serial to(pool.get_executor());
    const auto post = [&] {
        const bool is_in = to.post([&] { ran.fetch_add(1); });
        if (is_in) accepted.fetch_add(1);
        return is_in;
    };
    (void)pool.post([&] {
        while (!is_refused.load()) std::this_thread::yield();
        for (int i = 0; i != ekiden_test::rounds(10000); ++i) {
            CHECK(post());
            if (i % 8 == 0) std::this_thread::yield(); // so that the strand becomes idle
        }
        is_over.store(true);
    });
    std::thread outside([&] {
        while (!is_over.load())
            if (!post()) is_refused.store(true);
    });
    pool.join();
    outside.join();
    CHECK(ran.load() == accepted.load());
}

TEST_CASE_TEMPLATE("A thread that posts without a pause cannot keep a pool from ending", Serial, pool_strand,
                   in_one_lane, in_one_bounded_lane) {
    std::atomic<int> accepted{0};
    std::atomic<int> ran{0};
    thread_pool pool(1);
    const Serial to(pool.get_executor());
    std::thread outside([&] {
        while (to.post([&] { ran.fetch_add(1); })) accepted.fetch_add(1);
    });
    while (ran.load() == 0) std::this_thread::yield();
    pool.join();
    outside.join();
    CHECK(ran.load() == accepted.load());
}

TEST_CASE("An abandoned function whose destructor posts again ends") {
    ran_and_gone all;
    struct stubborn {
        const pool_strand& s;
        const pool_lanes& l;
        ran_and_gone& all;
        int left;
        bool is_live = true;
        stubborn(const pool_strand& a, const pool_lanes& b, ran_and_gone& c, int n)
            : s(a), l(b), all(c), left(n) {}
        stubborn(stubborn&& other) noexcept
            : s(other.s), l(other.l), all(other.all), left(other.left),
              is_live(std::exchange(other.is_live, false)) {}
        ~stubborn() {
            if (!is_live) return;
            all.gone.fetch_add(1);
            if (left == 0) return;
            s.post(stubborn(s, l, all, left - 1));
            (void)l.post(1, stubborn(s, l, all, left - 1));
        }
        void operator()() { all.ran.fetch_add(1); }
    };
    thread_pool pool({.threads = 1});
    const strand s(pool.get_executor());
    const pool_lanes l(pool.get_executor());
    pool.stop();
    pool.join();
    s.post(stubborn(s, l, all, 5));
    CHECK(all.ran.load() == 0);
    CHECK(all.gone.load() == 63); // 1 + 2 + 4 + ... + 32
}

TEST_CASE("The destructor of a function that close() abandons may wait for the pool") {
    thread_pool pool(1);
    const pool_lanes l(pool.get_executor());
    pool.pause();
    (void)l.post(1, [w = std::shared_ptr<void>(nullptr, [&pool](void*) {
                         pool.resume();
                         pool.wait_idle();
                     })] {});
    CHECK(l.close(1) == 1);
}

TEST_CASE("A post to a strand on a full lane does not wait, and delays no wait_idle()") {
    thread_pool pool(1);
    const pool_lanes l(pool.get_executor(), {.lane_capacity = 1, .policy = when_full::block});
    const strand s(l.get_executor(1));
    pool.pause();
    (void)l.post(1, [] {});
    CHECK(s.post([] {}));
    CHECK(!pool.wait_idle_for(std::chrono::milliseconds(1)));
    CHECK(l.metrics().beyond == 1);
    pool.resume();
}

// ---- the end of a thread, and fork

TEST_CASE("What destructors of thread_local objects post to strands and lanes runs") {
    EKIDEN_SKIP_WITH_GCC_ON_WINDOWS("frees thread_local objects before it destroys them");
    thread_pool pool(2);
    ran_and_gone all;
    const strand s(pool.get_executor());
    const pool_lanes l(pool.get_executor());
    const int rounds = ekiden_test::rounds(200);
    for (int round = 0; round != rounds; ++round) {
        std::thread([&] {
            poster.last_words = [&] {
                for (std::uint64_t i = 0; i != 10; ++i) {
                    s.post(all.function());
                    s.dispatch(all.function());
                    (void)l.post(i % 2, all.function());
                    l.dispatch(i % 2, all.function());
                }
            };
        }).join();
    }
    pool.wait_idle();
    CHECK(all.ran.load() == rounds * 40);
}

TEST_CASE("In the child of a fork strands of a pool and lanes refuse, and their end does not wait") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    if (!ekiden_test::can_child_start_threads()) return;
    auto pool = std::make_unique<thread_pool>(1);
    auto s = std::make_unique<pool_strand>(pool->get_executor());
    auto l = std::make_unique<pool_lanes>(pool->get_executor());
    s->submit([] {}).get();
    l->get_executor(1).submit([] {}).get();
    pool->wait_idle();
    const auto child = ekiden_test::run_in_child([&] {
        int refused = 0;
        const auto expect_refusal = [&refused](auto&& call) {
            try {
                call();
            } catch (const std::system_error& e) {
                refused += e.code() == std::errc::operation_not_permitted;
            }
        };
        expect_refusal([&] { s->post([] {}); });
        expect_refusal([&] { s->dispatch([] {}); });
        expect_refusal([&] { (void)l->post(1, [] {}); });
        expect_refusal([&] { l->dispatch(1, [] {}); });
        expect_refusal([&] { (void)l->close(1); });
        expect_refusal([&] { l->wait_idle(1); });
        expect_refusal([&] { (void)l->active(); });
        l.reset();
        s.reset();
#if defined(EKIDEN_TSAN) // lets no thread begin in the child
        refused += 2;
#else
        {
            thread_pool fresh(1); // new ones work
            const strand on_fresh(fresh.get_executor());
            const pool_lanes also(fresh.get_executor());
            refused += on_fresh.submit([] { return 1; }).get();
            refused += also.get_executor(1).submit([] { return 1; }).get();
        }
#endif
        std::_Exit(refused);
    });
    CHECK(child.exit_code == 9);
    CHECK(child.error_output.empty());
}

// ---- waits

TEST_CASE("A function of a lane that waits for a result lets its worker run other lanes") {
    thread_pool pool(1);
    const pool_lanes l(pool.get_executor());
    const int got = l.get_executor(1)
                        .submit([&] {
                            auto of_other = l.get_executor(2).submit(
                                [&] { return l.running_in_this_thread(1) ? -1 : 5; });
                            return of_other.get();
                        })
                        .get();
    CHECK(got == 5);
}

TEST_CASE("What a worker runs while a function of a lane waits does not wait for room in the lanes either") {
    for (const bool in_all : {false, true}) {
        thread_pool pool(1);
        const pool_lanes l(
            pool.get_executor(),
            {.lane_capacity = in_all ? 0U : 1U, .capacity = in_all ? 1U : 0U, .policy = when_full::block});
        std::string order;
        (void)l.post(1, [&] {
            (void)l.post(1, [&] { order += 'b'; });
            pool.submit([&] { (void)l.post(1, [&] { order += 'c'; }); }).get();
            order += 'a';
        });
        pool.wait_idle();
        CHECK(order == "abc");
    }
}

TEST_CASE("A continuation that waits for room in a lane holds up none of what its worker runs meanwhile") {
    thread_pool pool(1);
    const pool_lanes l(pool.get_executor(), {.lane_capacity = 1, .policy = when_full::block});
    std::string order;
    promise<void> begin;
    auto continued = begin.get_future().then(l.get_executor(1), [&] { order += 'b'; });
    pool.submit([&] {
            (void)l.post(1, [&] {
                pool.submit([] {}).then(pool.get_executor(), [] {}).get();
                order += 'a';
            });
            begin.set_value(); // there is no room
        })
        .get();
    continued.get();
    CHECK(order == "ab");
}

TEST_CASE("A post that waits for room outlives its executor and the lanes") {
    for (const bool in_all : {false, true}) {
        thread_pool pool(1);
        thread_pool other(1);
        std::latch has_begun(1);
        std::latch goes_on(1);
        std::latch is_helping(1);
        std::latch has_helped(1);
        auto l =
            std::make_unique<pool_lanes>(pool.get_executor(), lanes_options{.lane_capacity = in_all ? 0U : 1U,
                                                                            .capacity = in_all ? 1U : 0U,
                                                                            .policy = when_full::block});
        (void)l->post(1, [&] {
            has_begun.count_down();
            goes_on.wait();
        });
        has_begun.wait();
        (void)l->post(1, [] {});

        // The worker that waits for room runs another task meanwhile, and returns to the wait very late.
        ran_and_gone done;
        auto own = std::make_unique<pool_lanes::executor_type>(l->get_executor(1));
        other.post([&done, own = std::move(own)]() mutable {
            const auto& with = *own;
            with.post([f = done.function(), own = std::move(own)] { f(); });
        });
        other.post([&] {
            is_helping.count_down();
            has_helped.wait();
        });
        is_helping.wait();
        CHECK(l->depth(1) == 2);
        l.reset();
        goes_on.count_down();
        pool.wait_idle();
        CHECK(done.ran == 1);
        has_helped.count_down();
        other.wait_idle();
        CHECK(done.gone == 1);
    }
}

TEST_CASE("Posts that wait for room above each other on one worker all come in") {
    thread_pool pool(1);
    for (const std::size_t lane_capacity : {std::size_t{0}, std::size_t{1}}) {
        const pool_lanes l(pool.get_executor(),
                           {.lane_capacity = lane_capacity, .capacity = 1, .policy = when_full::block});
        std::atomic<int> ran{0};
        held_worker worker(pool);
        std::vector<std::thread> threads;
        for (std::uint64_t t = 0; t != 3; ++t) {
            threads.emplace_back([&, t] {
                for (std::uint64_t i = 0; i != 300; ++i) {
                    if (i % 2 == 0)
                        (void)l.post(t, [&ran] { ran.fetch_add(1); });
                    else
                        pool.post([&, t] {
                            for (std::uint64_t k = 0; k != 3; ++k)
                                (void)l.post(t + k, [&ran] { ran.fetch_add(1); });
                        });
                }
            });
        }
        worker.open();
        for (std::thread& t : threads) t.join();
        pool.wait_idle();
        CHECK(ran == 3 * (150 + 150 * 3));
        CHECK(l.active() == 0);
    }
}

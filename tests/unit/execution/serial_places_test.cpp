// Where functions of strands and lanes run, and where those of a key do: not inside of another function that
// did not ask for it, not under a lock, not on a thread that fires timers; and what a stopped or refusing
// context does.
#include "failing_executor.hpp"
#include "held_worker.hpp"
#include "user_executor.hpp"

#include <ekiden/execution/any_executor.hpp>
#include <ekiden/execution/bind_executor.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace {

using namespace ekiden;
using ekiden_test::failing_executor;
using ekiden_test::held_worker;
using pool_strand = strand<thread_pool::executor_type>;
using pool_lanes = lanes<std::uint64_t, thread_pool::executor_type>;

/// Calls `before` on the calling thread, and then the function, or it throws what `before` throws.
struct eventful_executor {
    users_context::executor_type inner;
    const std::function<void()>* before;

    users_context& context() const noexcept { return inner.context(); }
    void on_work_started() const noexcept {}
    void on_work_finished() const noexcept {}
    template <class F, class A>
    void dispatch(F&& f, const A& a) const {
        std::decay_t<F> own(std::forward<F>(f));
        if (const auto now = *before) now();
        inner.dispatch(std::move(own), a);
    }
    template <class F, class A>
    void post(F&& f, const A& a) const {
        std::decay_t<F> own(std::forward<F>(f));
        if (const auto now = *before) now();
        inner.post(std::move(own), a);
    }
    template <class F, class A>
    void defer(F&& f, const A& a) const {
        post(std::forward<F>(f), a);
    }
    friend bool operator==(const eventful_executor&, const eventful_executor&) = default;
};

/// Runs `f` on another thread, to its end.
void elsewhere(const auto& f) { std::thread(f).join(); }

} // namespace

// ---- dispatch

TEST_CASE("dispatch of a strand calls its own function only, what others post meanwhile is posted") {
    std::string caught;
    thread_pool pool(
        {.threads = 1, .on_unhandled_exception = [&](std::exception_ptr error, std::string_view) {
             try {
                 std::rethrow_exception(error);
             } catch (const std::runtime_error& e) {
                 caught += e.what();
             }
         }});
    const pool_strand s(pool.get_executor());
    const pool_strand around(pool.get_executor());
    bool is_inside = false;
    bool was_inside = true;
    bool was_around = true;
    bool was_thrown = false;
    around
        .submit([&] {
            is_inside = true;
            try {
                s.dispatch([&] {
                    elsewhere([&] {
                        s.post([&] {
                            was_inside = is_inside;
                            was_around = around.running_in_this_thread();
                            throw std::runtime_error("foreign");
                        });
                    });
                });
            } catch (const std::runtime_error&) {
                was_thrown = true;
            }
            is_inside = false;
        })
        .get();
    pool.wait_idle();
    CHECK_FALSE(was_inside);
    CHECK_FALSE(was_around);
    CHECK_FALSE(was_thrown);
    CHECK(caught == "foreign");
}

TEST_CASE("dispatch by way of another executor's dispatch calls its own function only, too") {
    users_context context;
    const std::function<void()> nothing;
    const eventful_executor inner{context.get_executor(), &nothing};
    const strand s(inner);
    const strand erased{any_executor(inner)};
    const strand twice(s);
    const auto run_in = [&](const auto& where) {
        bool is_inside = false;
        bool was_inside = true;
        bool has_run = false;
        context.get_executor().post(
            [&] {
                is_inside = true;
                where.dispatch([&] {
                    has_run = true;
                    elsewhere([&] { where.post([&] { was_inside = is_inside; }); });
                });
                CHECK(has_run);
                is_inside = false;
            },
            std::allocator<void>());
        context.run();
        CHECK_FALSE(was_inside);
    };
    run_in(s);
    run_in(erased);
    run_in(twice);
}

TEST_CASE("dispatch to an idle lane calls its own function only, what others post meanwhile is posted") {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}}) {
        thread_pool pool(1);
        const pool_lanes l(pool.get_executor(), {.lane_capacity = capacity, .shards = 1});
        bool is_inside = false;
        bool was_inside = true;
        std::string order;
        pool.submit([&] {
                is_inside = true;
                l.dispatch(1, [&] {
                    CHECK(l.running_in_this_thread(1));
                    elsewhere([&] { CHECK(l.post(1, [&] { was_inside = is_inside; })); });
                    CHECK(l.depth(1) == 1);
                    order += 'a';
                });
                order += 'b';
                CHECK_FALSE(l.running_in_this_thread(1));
                is_inside = false;
            })
            .get();
        pool.wait_idle();
        CHECK_FALSE(was_inside);
        CHECK(order == "ab");
        CHECK(l.active() == 0);
    }
}

TEST_CASE("dispatch to a lane posts if the lane is busy, or the executor cannot tell whether it may call") {
    users_context context;
    const std::function<void()> nothing;
    const lanes<int, eventful_executor> l(eventful_executor{context.get_executor(), &nothing}, {.shards = 1});
    thread_pool pool(1);
    const pool_lanes of_pool(pool.get_executor(), {.shards = 1});
    std::string order;
    context.get_executor().post(
        [&] {
            l.dispatch(1, [&] { order += 'b'; });
            order += 'a';
        },
        std::allocator<void>());
    context.run();
    CHECK(order == "ab");
    pool.submit([&] {
            (void)of_pool.post(1, [&] { order += 'd'; });
            of_pool.dispatch(1, [&] { order += 'e'; });
            order += 'c';
        })
        .get();
    pool.wait_idle();
    CHECK(order == "abcde");
}

TEST_CASE("An exception of a function that dispatch calls in an idle lane reaches the caller of dispatch") {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}}) {
        thread_pool pool(1);
        const pool_lanes l(pool.get_executor(), {.lane_capacity = capacity});
        bool has_run = false;
        pool.submit([&] {
                CHECK_THROWS_AS(l.dispatch(1,
                                           [&] {
                                               (void)l.post(1, [&] { has_run = true; });
                                               throw std::runtime_error("of the function");
                                           }),
                                std::runtime_error);
                CHECK_FALSE(l.running_in_this_thread(1));
            })
            .get();
        l.wait_idle(1);
        CHECK(has_run);
        CHECK(l.active() == 0);
    }
}

// ---- close

TEST_CASE("A lane that is closed in a dispatched function is as new when the function returns") {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{10}}) {
        thread_pool pool(1);
        const pool_lanes l(pool.get_executor(), {.lane_capacity = capacity});
        std::string order;
        pool.submit([&] {
                l.dispatch(1, [&] {
                    order += 'a';
                    CHECK(l.post(1, [&] { order += '?'; }));
                    CHECK(l.close(1) == 1);
                    CHECK(l.post(1, [&] { order += '?'; }) == (capacity == 0)); // accepted and abandoned
                });
                CHECK(l.post(1, [&] { order += 'b'; }));
            })
            .get();
        pool.wait_idle();
        CHECK(order == "ab");
        CHECK(l.active() == 0);
        CHECK(l.metrics().dropped + l.metrics().rejected == 2);
    }
}

// ---- an inner executor that throws

TEST_CASE("An inner executor that throws loses no accepted function of a strand or of lanes") {
    // The n-th call of the executor throws, or each from the n-th to the 2n-th.
    for (const bool once : {true, false}) {
        for (int n = 0; n != 20; ++n) {
            users_context context;
            int calls = 0;
            const std::function<void()> before = [&] {
                const int call = calls++;
                if (call == n || (!once && call > n && call <= 2 * n)) throw std::runtime_error("not now");
            };
            const eventful_executor inner{context.get_executor(), &before};
            const strand s(inner);
            const lanes<int, eventful_executor> free(inner, {.shards = 1});
            const lanes<int, eventful_executor> full(inner, {.lane_capacity = 1000, .shards = 1});
            int accepted = 0;
            int ran = 0;
            const auto post = [&](const auto& where) {
                try {
                    accepted += where.post([&ran] { ++ran; });
                } catch (const std::runtime_error&) { // not accepted
                }
            };
            for (int i = 0; i != 300; ++i) {
                post(s);
                post(free.get_executor(i % 7));
                post(full.get_executor(i % 7));
                if (i % 100 == 99) context.run();
            }
            while (context.run() != 0) {
            }
            CHECK(ran == accepted);
            CHECK(accepted >= 900 - n - 1);
            CHECK(free.active() + full.active() == 0);
            CHECK(free.metrics().dropped + full.metrics().dropped == 0);
        }
    }
}

TEST_CASE("A post that throws tells of the functions that others have posted meanwhile") {
    users_context context;
    std::function<void()> before;
    const eventful_executor inner{context.get_executor(), &before};
    const strand s(inner);
    const lanes<int, eventful_executor> l(inner, {.shards = 1});
    const auto post_in = [&](const auto& where) {
        int told = 0;
        int ran = 0;
        bool is_accepted = false;
        before = [&] {
            before = nullptr;
            elsewhere([&] { is_accepted = where.post([&ran] { ++ran; }); });
            throw std::runtime_error("not now");
        };
        CHECK_THROWS_AS(where.post([] { CHECK(false); }), std::runtime_error);
        try {
            context.run();
        } catch (const std::runtime_error&) { // the report
            ++told;
        }
        context.run();
        CHECK(is_accepted);
        CHECK(ran + told == 1);
    };
    post_in(s);
    post_in(l.get_executor(1));
    CHECK(l.metrics().dropped == 1);
    CHECK(l.active() == 0);
}

TEST_CASE("A timer whose handler the executor throws back reports that, and destroys the handler") {
    users_context context;
    std::function<void()> before;
    const eventful_executor inner{context.get_executor(), &before};
    const strand s(inner);
    const lanes<int, eventful_executor> l(inner, {.shards = 1});
    const auto wait_in = [&](const auto& where) {
        bool has_run = false;
        const auto owned = std::make_shared<int>();
        loop_context loop(1);
        steady_timer timer(loop, std::chrono::seconds(0));
        timer.async_wait(bind_executor(where, [&has_run, owned](std::error_code) { has_run = true; }));
        before = [&] {
            before = nullptr;
            throw std::runtime_error("not now");
        };
        loop.run();
        CHECK(owned.use_count() == 1);
        CHECK_THROWS_AS(context.run(), std::runtime_error); // the report
        context.run();
        CHECK_FALSE(has_run);
        CHECK(context.work == 0);
    };
    wait_in(inner);
    wait_in(any_executor(inner));
    wait_in(s);
    wait_in(l.get_executor(1));
}

// ---- bulk posts

TEST_CASE("A bulk post that a full lane has accepted makes all of its calls") {
    for (const when_full policy : {when_full::reject, when_full::drop_oldest, when_full::drop_newest}) {
        thread_pool pool(1);
        const pool_lanes l(pool.get_executor(), {.lane_capacity = 4, .policy = policy});
        const any_executor erased = l.get_executor(2);
        int calls = 0;
        CHECK(l.get_executor(1).post_bulk(1000, [&calls] { ++calls; }));
        pool.wait_idle();
        CHECK(calls == 1000);
        CHECK(erased.post_bulk(1000, [&calls] { ++calls; }));
        pool.wait_idle();
        CHECK(calls == 2000);
    }
}

TEST_CASE(
    "What is posted to a strand or a lane after a bulk post comes behind its calls, which are in order") {
    thread_pool pool({.threads = 1, .on_unhandled_exception = [](std::exception_ptr, std::string_view) {}});
    const pool_strand s(pool.get_executor());
    const pool_lanes l(pool.get_executor());
    const auto post_to = [&pool](const auto& where) {
        std::size_t next = 0;
        bool in_order = true;
        std::size_t at_the_end = 0;
        held_worker worker(pool);
        CHECK(where.post_bulk(1000, [&](std::size_t i) {
            in_order = in_order && i == next++ && where.running_in_this_thread();
            if (i % 100 == 0) throw std::runtime_error("of one call");
        }));
        where.post([&] { at_the_end = next; });
        worker.open();
        pool.wait_idle();
        CHECK(in_order);
        CHECK(at_the_end == 1000);
    };
    post_to(s);
    post_to(any_executor(s));
    post_to(strand(s));
    post_to(l.get_executor(1));
    post_to(any_executor(l.get_executor(1)));
}

// ---- stop and pause

TEST_CASE("A pool that is stopped begins no further function of a strand or a lane") {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{100}}) {
        thread_pool pool(1);
        const pool_strand s(pool.get_executor());
        const pool_lanes l(pool.get_executor(), {.lane_capacity = capacity});
        std::atomic<int> ran{0};
        std::atomic<int> gone{0};
        const auto function = [&] {
            return [&ran, witness = std::shared_ptr<void>(nullptr, [&gone](void*) { ++gone; })] { ++ran; };
        };
        {
            held_worker worker(pool);
            s.post([&] { pool.stop(); });
            for (int i = 0; i != 10; ++i) s.post(function());
            worker.open();
        }
        pool.join();
        CHECK(ran == 0);
        CHECK(gone == 10);

        thread_pool other(1);
        const pool_lanes of_other(other.get_executor(), {.lane_capacity = capacity});
        {
            held_worker worker(other);
            (void)of_other.post(1, [&] { other.stop(); });
            for (std::uint64_t i = 0; i != 10; ++i) (void)of_other.post(i % 2, function());
            worker.open();
        }
        other.join();
        CHECK(ran == 0);
        CHECK(gone == 20);
        CHECK(of_other.active() == 0);
    }
}

TEST_CASE("A bulk post to a strand ends with the pool's stop") {
    thread_pool pool(1);
    const pool_strand s(pool.get_executor());
    std::size_t calls = 0;
    s.post_bulk(1000, [&](std::size_t i) {
        ++calls;
        if (i == 9) pool.stop();
    });
    pool.join();
    CHECK(calls == 10);
}

TEST_CASE("Posts to a strand or a lane that runs are refused after the pool's stop, and say so") {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{100}}) {
        thread_pool pool(1);
        const pool_strand s(pool.get_executor());
        const pool_lanes l(pool.get_executor(), {.lane_capacity = capacity});
        bool was_accepted = true;
        s.submit([&] {
             l.dispatch(1, [&] {
                 pool.stop();
                 was_accepted = s.post([] {}) || l.post(1, [] {}) || l.defer(1, [] {})
                                || strand(s).post([] {}) || l.get_executor(1).post([] {})
                                || any_executor(s).post([] {}) || s.post_bulk(3, [] {});
             });
         }).wait();
        CHECK_FALSE(was_accepted);
    }
}

TEST_CASE("After the pool's stop a strand or a lane begins no function because its executor throws") {
    const auto stop_in = [](const auto& place_on) {
        thread_pool pool(1);
        std::atomic<bool> is_failing{false};
        const auto where = place_on(failing_executor(pool.get_executor(), is_failing));
        std::atomic<int> later{0};
        {
            held_worker worker(pool);
            CHECK(where.post([&] {
                pool.stop();
                is_failing = true;
            }));
            CHECK(where.post([&] { ++later; }));
            CHECK(where.post([&] { ++later; }));
            worker.open();
        }
        pool.join();
        CHECK(later == 0);
    };
    stop_in([](const failing_executor& inner) { return strand(inner); });
    stop_in([](const failing_executor& inner) {
        return lanes<int, failing_executor>(inner, {.shards = 1}).get_executor(1);
    });
    stop_in([](const failing_executor& inner) {
        return lanes<int, failing_executor>(inner, {.lane_capacity = 9, .shards = 1}).get_executor(1);
    });
}

TEST_CASE("A paused pool begins no further function of a strand or a lane") {
    thread_pool pool(1);
    const pool_strand s(pool.get_executor());
    const pool_lanes l(pool.get_executor());
    const auto pause_in = [&](const auto& where) {
        std::atomic<bool> is_paused{false};
        std::atomic<int> ran{0};
        std::atomic<int> too_early{0};
        {
            held_worker worker(pool);
            where.post([&] {
                pool.pause();
                is_paused = true;
            });
            for (int i = 0; i != 10; ++i) {
                where.post([&] {
                    too_early += is_paused.load();
                    ++ran;
                });
            }
            worker.open();
        }
        while (pool.activity() != "p" && ran != 10) std::this_thread::yield();
        is_paused = false;
        pool.resume();
        pool.wait_idle();
        CHECK(ran == 10);
        CHECK(too_early == 0);
    };
    pause_in(s);
    pause_in(l.get_executor(1));
}

TEST_CASE(
    "A loop that is stopped begins no further function of a strand or a lane, and goes on after restart") {
    for (const int hint : {1, loop_context::many}) {
        loop_context loop(hint);
        const strand s(loop.get_executor());
        const lanes<int, loop_context::executor_type> l(loop.get_executor());
        const auto stop_in = [&](const auto& where) {
            std::string order;
            where.post([&] {
                order += 'a';
                loop.stop();
            });
            where.post([&] { order += 'b'; });
            where.post([&] { order += 'c'; });
            loop.run();
            CHECK(order == "a");
            loop.restart();
            loop.run();
            CHECK(order == "abc");
            loop.restart();
        };
        stop_in(s);
        stop_in(l.get_executor(1));
    }
}

// ---- waits

TEST_CASE("wait_idle of a lane that is beneath on the same stack throws") {
    thread_pool pool(1);
    const pool_lanes l(pool.get_executor());
    std::error_code thrown;
    (void)l.post(1, [&] {
        pool.submit([&] {
                try {
                    l.wait_idle(1);
                } catch (const std::system_error& e) {
                    thrown = e.code();
                }
            })
            .get();
    });
    pool.wait_idle();
    CHECK(thrown == std::errc::resource_deadlock_would_occur);
}

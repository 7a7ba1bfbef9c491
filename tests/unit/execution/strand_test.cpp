#include <ekiden/execution/strand.hpp>

#include "../effort.hpp"
#include "../failing_allocations.hpp"
#include "held_worker.hpp"

#include <ekiden/execution/any_executor.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/config.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <concepts>
#include <doctest/doctest.h>
#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace ekiden;
using ekiden_test::held_worker;
using pool_strand = strand<thread_pool::executor_type>;

/// As a user would write it.
struct user_executor {
    thread_pool* pool;
    execution_context& context() const noexcept { return *pool; }
    void on_work_started() const noexcept {}
    void on_work_finished() const noexcept {}
    void dispatch(auto&& f, const auto&) const { pool->post(std::forward<decltype(f)>(f)); }
    void post(auto&& f, const auto&) const { pool->post(std::forward<decltype(f)>(f)); }
    void defer(auto&& f, const auto&) const { pool->post_last(std::forward<decltype(f)>(f)); }
    bool operator==(const user_executor&) const = default;
};

/// One that does something around each function, and says where it is.
struct scoped_executor {
    thread_pool* pool;
    int* depth;
    execution_context& context() const noexcept { return *pool; }
    void on_work_started() const noexcept {}
    void on_work_finished() const noexcept {}
    bool running_in_this_thread() const noexcept { return pool->running_in_this_thread(); }
    void dispatch(auto&& f, const auto& a) const { pool->get_executor().dispatch(scoped(f), a); }
    void post(auto&& f, const auto& a) const { pool->get_executor().post(scoped(f), a); }
    void defer(auto&& f, const auto& a) const { pool->get_executor().defer(scoped(f), a); }
    bool operator==(const scoped_executor&) const = default;

private:
    auto scoped(auto& f) const {
        return [depth = depth, f = std::move(f)]() mutable {
            ++*depth;
            f();
            --*depth;
        };
    }
};

} // namespace

static_assert(executor<user_executor>);
static_assert(executor<scoped_executor> && !task_executor<scoped_executor>);
static_assert(executor<pool_strand> && task_executor<pool_strand>);
static_assert(executor<strand<pool_strand>>);
static_assert(executor<strand<any_executor>>);
static_assert(pool_strand::footprint() <= 64);

// ---- order

TEST_CASE("A strand runs its functions in the order of the posts, and dispatch inside of it at once") {
    thread_pool pool(1);
    strand s(pool.get_executor());
    std::string order;
    held_worker worker(pool);
    s.post([&] {
        order += 'a';
        s.post([&] { order += 'c'; });
        s.dispatch([&] { order += 'b'; });
        s.defer([&] { order += 'd'; });
    });
    s.post([&] { order += 'x'; });
    worker.open();
    pool.wait_idle();
    CHECK(order == "abxcd");
}

TEST_CASE("A strand can be made from a context") {
    thread_pool pool(1);
    const strand s(pool);
    static_assert(std::same_as<decltype(s), const pool_strand>);
    CHECK(s.get_inner_executor() == pool.get_executor());
    const strand<any_executor> any(pool);
    CHECK(any.get_inner_executor() == any_executor(pool.get_executor()));
}

TEST_CASE("Functions of a strand run one at a time, those of each poster in order") {
    constexpr int posters = 3;
    const int count = ekiden_test::rounds(100'000);
    std::array<int, posters> next{};
    int total = 0; // plain: the strand orders them
    bool in_order = true;
    {
        thread_pool pool(2);
        const strand s(pool.get_executor());
        std::vector<std::thread> threads;
        for (std::size_t p = 0; p != posters; ++p) {
            threads.emplace_back([&, p, s] {
                for (int i = 0; i != count; ++i) {
                    s.post([&, p, i] {
                        ++total;
                        in_order = in_order && next[p]++ == i;
                    });
                }
            });
        }
        for (std::thread& t : threads) t.join();
    }
    CHECK(total == posters * count);
    CHECK(in_order);
}

TEST_CASE("post and defer never run the function before they return") {
    thread_pool pool(1);
    const strand s(pool.get_executor());
    int outside = 0;
    bool ran_early = false;
    pool.submit([&] { // a worker, idle strand
            s.post([&] { ++outside; });
            ran_early = ran_early || outside != 0;
            s.defer([&] { ++outside; });
            ran_early = ran_early || outside != 0;
        })
        .get();
    pool.wait_idle();
    s.post([&] { // inside of the strand
        int here = 0;
        const auto shared = std::make_shared<int>(0);
        s.post([shared] { ++*shared; });
        s.defer([shared] { ++*shared; });
        here = *shared;
        ran_early = ran_early || here != 0;
    });
    pool.wait_idle();
    CHECK(outside == 2);
    CHECK_FALSE(ran_early);
}

// ---- dispatch

TEST_CASE("dispatch to an idle strand runs at once on a thread of the inner context, elsewhere it posts") {
    thread_pool pool(1);
    const strand s(pool.get_executor());
    std::thread::id ran_in;
    s.dispatch([&] { ran_in = std::this_thread::get_id(); });
    pool.wait_idle();
    CHECK(ran_in != std::this_thread::get_id());

    const bool was_inline = pool.submit([&] {
                                    bool ran = false;
                                    s.dispatch([&] { ran = s.running_in_this_thread(); });
                                    return ran;
                                })
                                .get();
    CHECK(was_inline);
}

TEST_CASE("dispatch to a busy strand comes behind what is queued") {
    thread_pool pool(1);
    const strand s(pool.get_executor());
    std::string order;
    pool.submit([&] {
            s.post([&] { order += 'a'; });
            s.dispatch([&] { order += 'b'; });
            order += '0';
        })
        .get();
    pool.wait_idle();
    CHECK(order == "0ab");
}

TEST_CASE("What a dispatched function throws comes out of dispatch, and the strand goes on") {
    thread_pool pool(1);
    const strand s(pool.get_executor());
    bool ran = false;
    const bool was_thrown = pool.submit([&] {
                                    try {
                                        s.dispatch([&] {
                                            s.post([&] { ran = true; });
                                            throw std::runtime_error("dispatched");
                                        });
                                    } catch (const std::runtime_error&) {
                                        return true;
                                    }
                                    return false;
                                })
                                .get();
    pool.wait_idle();
    CHECK(was_thrown);
    CHECK(ran);
}

// ---- identity and nesting

TEST_CASE("Copies of a strand are equal, two strands never are") {
    thread_pool pool(1);
    const strand a(pool.get_executor());
    const strand b(pool.get_executor());
    const strand copy = a; // NOLINT(performance-unnecessary-copy-initialization)
    CHECK(copy == a);
    CHECK_FALSE(a == b);
    strand moved = std::move(copy);
    CHECK(moved == a);
    moved = b;
    CHECK(moved == b);
    CHECK(a.get_inner_executor() == pool.get_executor());
    CHECK(&a.context() == &pool);
}

TEST_CASE("A strand on a strand runs in order, and both say that they run in this thread") {
    thread_pool pool(2);
    const strand inner(pool.get_executor());
    const strand<pool_strand> outer(inner);
    const strand other(pool.get_executor());
    int count = 0;
    int inside = 0;
    for (int i = 0; i != 1000; ++i) {
        outer.post([&] {
            ++count;
            inside += outer.running_in_this_thread() && inner.running_in_this_thread()
                      && !other.running_in_this_thread();
        });
        inner.post([&] {
            ++count;
            inside += !outer.running_in_this_thread() && inner.running_in_this_thread();
        });
    }
    pool.wait_idle();
    CHECK(count == 2000);
    CHECK(inside == 2000);
    CHECK_FALSE(outer.running_in_this_thread());
    CHECK_FALSE(inner.running_in_this_thread());
}

TEST_CASE("A strand whose function waits for a result is not said to run in what the worker runs meanwhile") {
    thread_pool pool(1);
    const strand s(pool.get_executor());
    bool said_so = true;
    const auto result = s.submit([&] {
        return pool
            .submit([&] {
                said_so = s.running_in_this_thread();
                return 1;
            })
            .get();
    });
    result.wait();
    CHECK_FALSE(said_so);
}

TEST_CASE("A strand works on a type-erased executor, and on one that knows no tasks") {
    thread_pool pool(2);
    const strand erased{any_executor(pool.get_executor())};

    const strand on_users{user_executor{&pool}};

    int a = 0;
    int b = 0;
    for (int i = 0; i != 1000; ++i) {
        erased.post([&a] { ++a; });
        on_users.post([&b] { ++b; });
        on_users.dispatch([&b] { ++b; });
    }
    pool.wait_idle();
    CHECK(a == 1000);
    CHECK(b == 2000);
}

// ---- memory

TEST_CASE(
    "An executor that takes only functions gets all of them, also those that are dispatched inside of it") {
    thread_pool pool(1);
    int depth = 0;
    const scoped_executor scoped{&pool, &depth};
    const any_executor erased(scoped);
    const strand on_scoped(scoped);
    const strand on_erased(erased);
    const auto depth_by = [&](const auto& where) {
        return pool
            .submit([&] {
                int seen = 0;
                where.dispatch([&] { seen = depth; });
                return seen;
            })
            .get();
    };
    CHECK(depth_by(erased) == 1);
    CHECK(depth_by(on_scoped) == 1);
    CHECK(depth_by(on_erased) == 1);
    CHECK(depth_by(strand(any_executor(on_scoped))) == 1);
    CHECK(depth == 0);
}

TEST_CASE("Functions need only be movable, and their memory is free when they run") {
    thread_pool pool(1);
    const strand s(pool.get_executor());
    int got = 0;
    s.post([value = std::make_unique<int>(7), &got] { got = *value; });
    pool.wait_idle();
    CHECK(got == 7);
}

TEST_CASE("Posting to a strand allocates nothing once memory has been recycled") {
    thread_pool pool(1);
    const strand s(pool.get_executor());
    int count = 0;
    const auto work = [&] {
        for (int i = 0; i != 1000; ++i) {
            s.post([&count] { ++count; });
            if (i % 10 == 0) pool.wait_idle(); // the strand becomes busy again
        }
        pool.wait_idle();
    };
    // One that runs long: the worker puts it behind others, and needs a way into the queue for that.
    std::latch release(1);
    s.post([&release] { release.wait(); });
    for (int i = 0; i != 1000; ++i) s.post([] {});
    release.count_down();
    for (int i = 0; i != 10; ++i) work();
    const long before = ekiden_test::allocation_count();
    work();
    CHECK(ekiden_test::allocation_count() == before);
    CHECK(count == 11'000);
}

// ---- fairness

TEST_CASE("A plain post beside two strands that never run dry waits for some batches at most") {
    thread_pool pool(1);
    struct endless {
        strand<thread_pool::executor_type> s;
        std::atomic<bool>& is_over;
        std::atomic<long>& ran;
        void operator()() {
            ran.fetch_add(1, std::memory_order_relaxed);
            if (!is_over.load(std::memory_order_relaxed)) s.post(endless{s, is_over, ran});
        }
    };
    std::atomic<bool> is_over{false};
    std::array<std::atomic<long>, 2> ran{};
    for (auto& of_one : ran) {
        const strand s(pool.get_executor());
        for (int i = 0; i != 100; ++i) s.post(endless{s, is_over, of_one});
    }
    std::vector<long> meanwhile; // what the strands ran from the post to its beginning
    for (int i = 0; i != ekiden_test::rounds(2000); ++i) {
        const auto so_far = [&ran] { return ran[0].load() + ran[1].load(); };
        const long before = so_far();
        meanwhile.push_back(pool.submit(so_far).get() - before);
    }
    std::sort(meanwhile.begin(), meanwhile.end());
    const long first = ran[0].load();
    const long second = ran[1].load();
    is_over = true;
    pool.wait_idle();
    // Where this thread has lost its processor before it posted, it is more.
    const long usual = meanwhile[meanwhile.size() / 2];
    MESSAGE("functions of the strands meanwhile: " << usual << " usually, at most " << meanwhile.back());
    CHECK(usual < 64 * 64);
    CHECK(first > 0);
    CHECK(second > 0);
}

TEST_CASE("rule: Of 10,000 strands one is blocked, and the others go on") {
    constexpr int count = 10'000;
    thread_pool pool(2);
    std::latch release(1);
    std::atomic<int> ran{0};
    std::vector<pool_strand> strands;
    for (int i = 0; i != count; ++i) strands.emplace_back(pool.get_executor());
    strands[count / 2].post([&] { release.wait(); });
    for (int round = 0; round != 3; ++round) {
        for (int i = 0; i != count; ++i) {
            strands[static_cast<std::size_t>(i)].post([&] {
                if (ran.fetch_add(1) + 1 == 3 * (count - 1)) ran.notify_one();
            });
        }
    }
    for (int now; (now = ran.load()) < 3 * (count - 1);) ran.wait(now);
    CHECK(ran.load() == 3 * (count - 1)); // all but those of the blocked one
    release.count_down();
    pool.wait_idle();
    CHECK(ran.load() == 3 * count);
}

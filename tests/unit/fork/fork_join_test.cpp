#include <ekiden/fork/fork_join.hpp>

#include <ekiden/pool/default_pool.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/random.hpp>

#include <tests/unit/child_process.hpp>
#include <tests/unit/posix.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using ekiden::fork_scope;
using ekiden::parallel_invoke;
using namespace std::chrono_literals;

namespace {

long fib(fork_scope& scope, long n) {
    if (n < 2) return n;
    auto [a, b] = parallel_invoke(
        scope, [n](fork_scope& s) { return fib(s, n - 1); }, [n](fork_scope& s) { return fib(s, n - 2); });
    return a + b;
}

long plain_fib(long n) {
    if (n < 2) return n;
    auto [a, b] = parallel_invoke([n] { return plain_fib(n - 1); }, [n] { return plain_fib(n - 2); });
    return a + b;
}

/// Waits until `flag` is set, 20 s at most.
bool wait_for(const std::atomic<bool>& flag) {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (!flag) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::yield();
    }
    return true;
}

std::string what(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        return e.what();
    }
}

} // namespace

TEST_CASE("parallel_invoke returns the results in the order of the callables, without the voids") {
    int calls = 0;
    auto [a, b] = parallel_invoke([] { return 1; }, [] { return std::string("two"); });
    CHECK(a == 1);
    CHECK(b == "two");
    auto [c, d, e] = parallel_invoke([] { return 1; }, [&] { ++calls; }, [](fork_scope&) { return 2L; },
                                     [] { return std::make_unique<int>(3); });
    CHECK(c == 1);
    CHECK(d == 2L);
    CHECK(*e == 3);
    CHECK(calls == 1);
    static_assert(std::is_same_v<decltype(parallel_invoke([] {}, [] {})), std::tuple<>>);
    int x = 0;
    auto [r] = parallel_invoke([&]() -> int& { return x; });
    static_assert(std::is_same_v<decltype(r), int&>);
    CHECK(&r == &x);
}

TEST_CASE("parallel_invoke calls callables of every kind once, as what they are") {
    struct counter {
        int calls = 0;
        int operator()() & { return ++calls; }
        int operator()() && { return -1; }
    };
    counter named;
    counter second;
    auto [a, b, c] = parallel_invoke(named, second, counter());
    CHECK(a == 1);
    CHECK(b == 1);
    CHECK(c == -1);
    CHECK(named.calls == 1);
    CHECK(second.calls == 1);
    auto big = [text = std::string(100, 'x')] { return text.size(); };
    auto [d, e] = parallel_invoke([] { return 0; }, std::move(big));
    CHECK(e == 100);
    CHECK(d == 0);
}

TEST_CASE("a recursion without cut-off gives the right result in pools of every size") {
    for (unsigned threads : {1U, 2U, 4U}) {
        ekiden::thread_pool pool({.threads = threads});
        for (int round = 0; round != 5; ++round) {
            auto [outside] = parallel_invoke(pool, [](fork_scope& s) { return fib(s, 22); });
            CHECK(outside == 17711);
            auto inside = pool.submit([] {
                auto [r] = parallel_invoke([](fork_scope& s) { return fib(s, 22); });
                return r;
            });
            CHECK(inside.get() == 17711);
        }
    }
    auto [by_default] = parallel_invoke([](fork_scope& s) { return fib(s, 20); });
    CHECK(by_default == 6765);
}

TEST_CASE("the plain form nests: in workers, outside, and in many threads at once") {
    ekiden::thread_pool pool({.threads = 2});
    CHECK(plain_fib(16) == 987);
    CHECK(pool.submit([] { return plain_fib(16); }).get() == 987);
    std::vector<std::thread> guests;
    std::atomic<int> right = 0;
    for (int i = 0; i != 6; ++i) {
        guests.emplace_back([&] {
            for (int round = 0; round != 5; ++round) {
                auto [r] = parallel_invoke(pool, [] { return plain_fib(14); });
                if (r == 377) ++right;
            }
        });
    }
    for (auto& guest : guests) guest.join();
    CHECK(right == 30);
}

TEST_CASE("a sleeping worker takes the second callable while the first one runs") {
    ekiden::thread_pool pool({.threads = 2});
    const auto both_at_once = [&](ekiden::thread_pool* where) {
        std::atomic<bool> first_runs = false;
        std::atomic<bool> second_runs = false;
        std::thread::id second_thread;
        const auto first = [&] {
            first_runs = true;
            return wait_for(second_runs);
        };
        const auto second = [&] {
            second_thread = std::this_thread::get_id();
            second_runs = true;
            return wait_for(first_runs);
        };
        const auto [a, b] = where != nullptr ? parallel_invoke(*where, first, second) //
                                             : parallel_invoke(first, second);
        return a && b && second_thread != std::this_thread::get_id();
    };
    for (int round = 0; round != 20; ++round) {
        std::this_thread::sleep_for(2ms); // the workers sleep
        CHECK(both_at_once(&pool));
        CHECK(pool.submit([&] { return both_at_once(nullptr); }).get());
    }
}

TEST_CASE("each of the children that lie ready is taken while workers have nothing to do") {
    constexpr int count = 4;
    ekiden::thread_pool pool({.threads = count - 1});
    for (int round = 0; round != 20; ++round) {
        if (round % 2 == 0) std::this_thread::sleep_for(2ms);
        std::atomic<int> running = 0;
        const auto all_run = [&] {
            ++running;
            const auto deadline = std::chrono::steady_clock::now() + 20s;
            while (running < count && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
            return running == count;
        };
        const auto [a, b, c, d] = parallel_invoke(pool, all_run, all_run, all_run, all_run);
        CHECK((a && b && c && d));
    }
}

TEST_CASE("an exception of either side comes after both have ended") {
    ekiden::thread_pool pool({.threads = 2});
    for (int round = 0; round != 200; ++round) {
        std::atomic<int> ended = 0;
        const bool first_throws = round % 3 != 1;
        const bool second_throws = round % 3 != 0;
        const auto side = [&](const char* name, bool throws) {
            if (round % 5 == 0) std::this_thread::sleep_for(50us);
            ++ended;
            if (throws) throw std::runtime_error(name);
            return 1;
        };
        std::string caught;
        try {
            parallel_invoke(
                pool, [&] { return side("first", first_throws); },
                [&] { return side("second", second_throws); });
        } catch (const std::runtime_error& error) {
            caught = error.what();
        }
        CHECK(ended == 2);
        CHECK(caught == (first_throws ? "first" : "second"));
        const auto others = ekiden::suppressed_exceptions();
        REQUIRE(others.size() == (first_throws && second_throws ? 1 : 0));
        if (!others.empty()) CHECK(what(others[0]) == "second");
    }
}

TEST_CASE("exceptions from all over a tree are reachable") {
    ekiden::thread_pool pool({.threads = 3});
    for (int round = 0; round != 50; ++round) {
        const auto fail = [](const char* name) {
            return [name]() -> int {
                std::this_thread::sleep_for(20us);
                throw std::runtime_error(name);
            };
        };
        std::vector<std::string> all;
        try {
            parallel_invoke(
                pool, [&](fork_scope& s) { return parallel_invoke(s, fail("a"), fail("b")); },
                [&](fork_scope& s) { return parallel_invoke(s, fail("c"), fail("d"), fail("e")); });
        } catch (const std::runtime_error& error) {
            all.emplace_back(error.what());
        }
        for (const auto& error : ekiden::suppressed_exceptions()) all.push_back(what(error));
        CHECK(all == std::vector<std::string>{"a", "b", "c", "d", "e"});
    }
    (void)parallel_invoke([] { return 1; });
    CHECK(ekiden::suppressed_exceptions().empty());
}

TEST_CASE("suppressed exceptions stay while a nested call runs in another pool") {
    ekiden::thread_pool pool({.threads = 1});
    ekiden::thread_pool other({.threads = 1});
    const auto fail = [] { throw std::runtime_error("x"); };
    std::size_t before = 0;
    std::size_t after = 0;
    parallel_invoke(
        pool,
        [&] {
            try {
                parallel_invoke(pool, fail, fail, fail);
            } catch (const std::runtime_error&) {
            }
            before = ekiden::suppressed_exceptions().size();
            parallel_invoke(other, [] {}, [] {});
            after = ekiden::suppressed_exceptions().size();
        },
        [] {});
    CHECK(before == 2);
    CHECK(after == 2);
}

TEST_CASE("fork-join in the destructor of a static object may throw several exceptions") {
    const auto child = ekiden_test::run_in_child([] {
        static ekiden::thread_pool pool({.threads = 1});
        static const auto fail = [] { throw std::runtime_error("x"); };
        static const auto fail_twice = [] {
            try {
                parallel_invoke(pool, fail, fail);
            } catch (const std::runtime_error&) {
                return;
            }
            std::_Exit(1);
        };
        struct fails_at_exit {
            ~fails_at_exit() {
                fail_twice();
                fail_twice();
            }
        };
        static fails_at_exit at_exit;
        fail_twice();
        std::exit(0);
    });
    CHECK(child.exit_code == 0);
    CHECK(child.signal == 0);
}

TEST_CASE("a caller's lock is safe: waiting runs nothing but what was forked inside") {
    ekiden::thread_pool pool({.threads = 3});
    std::mutex lock;
    std::atomic<std::thread::id> owner{};
    std::atomic<bool> re_entered = false;
    const auto leaf = [&](int i) {
        if (owner == std::this_thread::get_id()) {
            re_entered = true; // would be a deadlock
            return 0;
        }
        std::lock_guard guard(lock);
        owner = std::this_thread::get_id();
        const auto spin = [i] {
            const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(20 + i % 7 * 10);
            while (std::chrono::steady_clock::now() < until) {
            }
            return 1;
        };
        const auto [a, b, c] = parallel_invoke(spin, spin, spin);
        owner = std::thread::id();
        return a + b + c;
    };
    struct tree {
        const decltype(leaf)& call;
        int sum(fork_scope& scope, int first, int last) const {
            if (last - first == 1) return call(first);
            const int middle = first + (last - first) / 2;
            auto [a, b] = parallel_invoke(
                scope, [&](fork_scope& s) { return sum(s, first, middle); },
                [&](fork_scope& s) { return sum(s, middle, last); });
            return a + b;
        }
    };
    auto [sum] = parallel_invoke(pool, [&](fork_scope& s) { return tree{leaf}.sum(s, 0, 300); });
    CHECK(sum == 900);
    CHECK_FALSE(re_entered.load());
}

namespace {

/// An unbalanced tree: one side of each call is small, the other one has all the rest.
long lopsided(fork_scope& scope, long levels, bool deep_first) {
    if (levels == 0) return 0;
    const auto small = [] { return 1L; };
    const auto rest = [levels, deep_first](fork_scope& s) { return lopsided(s, levels - 1, deep_first); };
    if (deep_first) {
        auto [a, b] = parallel_invoke(scope, rest, small);
        return a + b;
    }
    auto [a, b] = parallel_invoke(scope, small, rest);
    return a + b;
}

#if defined(__SANITIZE_ADDRESS__) || defined(EKIDEN_TSAN)
constexpr bool is_sanitized = true;
#elif defined(__has_feature)
constexpr bool is_sanitized = __has_feature(address_sanitizer);
#else
constexpr bool is_sanitized = false;
#endif

#if !defined(__GLIBC__) // other systems cannot change the default size of stacks
struct bigger_stacks {
    ~bigger_stacks() {}
};
#else
/// For the threads that begin meanwhile; only what is used gets memory.
struct bigger_stacks {
    bigger_stacks() {
        pthread_getattr_default_np(&before);
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, std::size_t{2} << 30);
        pthread_setattr_default_np(&attributes);
        pthread_attr_destroy(&attributes);
    }
    ~bigger_stacks() { pthread_setattr_default_np(&before); }
    pthread_attr_t before;
};
#endif

} // namespace

TEST_CASE("a recursion of a million unbalanced levels ends") {
#if !defined(__GLIBC__)
    constexpr long levels = 1'000;
#else
    // A sanitizer's frames are many times larger, and ThreadSanitizer records at most 65,536 nested calls.
    constexpr long levels = is_sanitized ? 3'000 : 1'000'000;
#endif
    const bigger_stacks guard;
    ekiden::thread_pool pool({.threads = 2});
    for (const bool deep_first : {false, true}) {
        auto result = pool.submit([&] {
            auto [sum] = parallel_invoke([&](fork_scope& s) { return lopsided(s, levels, deep_first); });
            return sum;
        });
        CHECK(result.get() == levels);
    }
}

TEST_CASE("a pool that is paused, stopped or joined leaves all to the caller") {
    ekiden::thread_pool pool({.threads = 2});
    const auto run = [&] {
        auto [r] = parallel_invoke(pool, [](fork_scope& s) { return fib(s, 15); });
        return r;
    };
    pool.pause();
    CHECK(run() == 610);
    pool.resume();
    CHECK(run() == 610);
    pool.stop();
    CHECK(run() == 610);
    pool.join();
    CHECK(run() == 610);
}

TEST_CASE("random trees with tasks, futures and calls that take time lose nothing") {
    ekiden::thread_pool pool({.threads = 4});
    struct builder {
        ekiden::thread_pool& pool;
        std::atomic<long>& leaves;

        long grow(fork_scope& scope, int depth, std::uint64_t seed) const {
            ekiden::sys::random random(seed);
            if (depth == 0 || random.below(12) == 0) {
                if (random.below(40) == 0)
                    std::this_thread::sleep_for(std::chrono::microseconds(random.below(60)));
                long extra = 0;
                if (random.below(50) == 0) extra = pool.submit([] { return 1; }).get() - 1;
                if (random.below(50) == 0) extra += plain_fib(5) - 5;
                ++leaves;
                return 1 + extra;
            }
            const std::uint64_t left = random.next() + 1, right = random.next() + 1;
            auto [a, b] = parallel_invoke(
                scope, [=, this](fork_scope& s) { return grow(s, depth - 1, left); },
                [=, this](fork_scope& s) { return grow(s, depth - 1, right); });
            return a + b;
        }
    };
    for (int round = 0; round != 30; ++round) {
        std::atomic<long> leaves = 0;
        const builder build{pool, leaves};
        const std::uint64_t seed = static_cast<std::uint64_t>(round) * 977 + 5;
        long counted = 0;
        if (round % 2 == 0)
            counted =
                std::get<0>(parallel_invoke(pool, [&](fork_scope& s) { return build.grow(s, 12, seed); }));
        else
            counted = pool.submit([&] {
                              return std::get<0>(
                                  parallel_invoke([&](fork_scope& s) { return build.grow(s, 12, seed); }));
                          })
                          .get();
        CHECK(counted == leaves);
    }
    pool.wait_idle();
    CHECK(pool.metrics().tasks_pending == 0);
}

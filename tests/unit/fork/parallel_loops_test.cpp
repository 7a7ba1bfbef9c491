#include <ekiden/fork/parallel_for.hpp>
#include <ekiden/fork/parallel_for_each.hpp>
#include <ekiden/fork/parallel_reduce.hpp>
#include <ekiden/fork/parallel_sort.hpp>
#include <ekiden/fork/parallel_transform.hpp>
#include <ekiden/future/promise.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <latch>
#include <limits>
#include <list>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using ekiden::loop_options;
using ekiden::parallel_for;
using ekiden::parallel_for_each;
using ekiden::parallel_reduce;
using ekiden::parallel_sort;
using ekiden::parallel_transform;
using namespace std::chrono_literals;

namespace {

void spin(std::chrono::nanoseconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < until) {
    }
}

} // namespace

TEST_CASE("parallel_for makes each call once, for cheap and for dear bodies") {
    ekiden::thread_pool pool({.threads = 3});
    for (const std::size_t n : {0U, 1U, 2U, 100U, 100'000U}) {
        std::vector<std::atomic<int>> calls(n);
        parallel_for(pool, std::size_t{0}, n, [&](std::size_t i) { ++calls[i]; });
        bool once = true;
        for (const auto& c : calls) once = once && c == 1;
        CHECK(once);
    }
    std::vector<std::atomic<int>> calls(300);
    CHECK(parallel_for(pool, 0, 300,
                       [&](int i) {
                           spin(i % 50 == 0 ? 300us : 1us);
                           ++calls[static_cast<std::size_t>(i)];
                       },
                       {.grain = 3}));
    bool once = true;
    for (const auto& c : calls) once = once && c == 1;
    CHECK(once);
}

TEST_CASE("parallel_for counts over the whole range of its type") {
    std::atomic<int> calls = 0;
    std::atomic<std::int64_t> sum = 0;
    parallel_for(std::int8_t{-128}, std::int8_t{127}, [&](std::int8_t i) {
        ++calls;
        sum += i;
    });
    CHECK(calls == 255);
    CHECK(sum == -255); // -128 ... 126
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    parallel_for(least, least + 3, [&](std::int64_t i) { CHECK(i <= least + 2); });
    parallel_for(5, 3, [](int) { CHECK(false); });
}

namespace {

/// Returns from meet() when so many threads are in it at the same time; false if they have not come in 20 s.
class meeting {
public:
    explicit meeting(int expected) : missing_(expected) {}
    bool meet() {
        std::unique_lock guard(lock_);
        if (--missing_ == 0) all_here_.notify_all();
        const bool all_came = all_here_.wait_for(guard, 20s, [&] { return missing_ <= 0; });
        has_failed_ = has_failed_ || !all_came;
        return !has_failed_;
    }

private:
    std::mutex lock_;
    std::condition_variable all_here_;
    int missing_;
    bool has_failed_ = false; // whoever comes too late meets nobody
};

} // namespace

TEST_CASE("the iterations of a parallel_for are spread over threads that have nothing to do") {
    ekiden::thread_pool pool({.threads = 2});
    for (int round = 0; round != 10; ++round) {
        std::this_thread::sleep_for(1ms);
        meeting all_three(3); // the caller among them
        std::atomic<int> met = 0;
        parallel_for(pool, 0, 3, [&](int) { met += all_three.meet(); });
        REQUIRE(met == 3);
    }
}

TEST_CASE("iterations that have not begun are there for threads that come while a long one runs") {
    std::latch may_come(1);
    std::latch are_busy(2);
    std::atomic<int> met = 0;
    meeting all_three(3);
    ekiden::thread_pool pool({.threads = 2});
    for (int i = 0; i != 2; ++i) {
        pool.post([&] {
            are_busy.count_down();
            may_come.wait();
        });
    }
    are_busy.wait();
    const auto body = [&](int i) {
        if (i == 0) may_come.count_down(); // nobody has asked for work when this one begins
        met += all_three.meet();
    };
    SUBCASE("a loop") { parallel_for(pool, 0, 3, body); }
    SUBCASE("a loop with a grain") { parallel_for(pool, 0, 3, body, {.grain = 1}); }
    SUBCASE("a loop in a loop") {
        parallel_for(pool, 0, 1, [&](int) { parallel_for(pool, 0, 3, body); });
    }
    SUBCASE("a reduction") {
        const auto map = [&](int i) {
            body(i);
            return std::to_string(i);
        };
        CHECK(parallel_reduce(pool, 0, 3, std::string(), map, std::plus<>()) == "012");
    }
    CHECK(met == 3);
}

TEST_CASE("offer_all puts calls on offer that would stay with their thread until somebody asks") {
    std::latch may_come(1);
    std::latch is_busy(1);
    std::atomic<int> met = 0;
    meeting both(2);
    ekiden::thread_pool pool({.threads = 1});
    pool.post([&] {
        is_busy.count_down();
        may_come.wait();
    });
    is_busy.wait();
    const auto offers = [&](ekiden::fork_scope& inner) {
        inner.offer_all();
        may_come.count_down();
        met += both.meet();
    };
    ekiden::parallel_invoke(
        pool,
        [&](ekiden::fork_scope& outer) {
            ekiden::parallel_invoke(outer, offers, [&] { met += both.meet(); });
        },
        [] {}); // this one is on offer anyway
    CHECK(met == 2);
}

namespace {

/// How much of their stacks threads use between calls of look().
class stack_depth {
public:
    stack_depth() { ++current; }
    void look() {
        static thread_local int of = 0;
        static thread_local const char* first = nullptr;
        const auto* const here = static_cast<const char*>(__builtin_frame_address(0));
        if (std::exchange(of, current) != current) first = here;
        const std::ptrdiff_t deep = std::abs(first - here);
        std::ptrdiff_t most = most_;
        while (deep > most && !most_.compare_exchange_weak(most, deep)) {
        }
    }
    [[nodiscard]] std::ptrdiff_t most() const { return most_; }

private:
    static inline int current = 0; // the first look of a thread is another one in each test
    std::atomic<std::ptrdiff_t> most_ = 0;
};

} // namespace

TEST_CASE("a loop of long iterations needs no more stack for that, whether others take them or nobody") {
    unsigned threads = 0;
    SUBCASE("nobody") { threads = 1; }
    SUBCASE("one other") { threads = 2; }
    stack_depth stack;
    ekiden::thread_pool pool({.threads = threads});
    pool.submit([&stack] {
            parallel_for(0, 1000, [&stack](int) {
                stack.look();
                spin(20us);
            });
        })
        .get();
    CHECK(stack.most() < 128 * 1024); // ten levels or so: each time half of what is left changes hands
}

TEST_CASE("nor does a loop whose iterations wait for results of others, and take iterations meanwhile") {
    unsigned threads = 0;
    SUBCASE("one worker") { threads = 1; }
    SUBCASE("two workers") { threads = 2; }
    std::mutex lock;
    std::vector<ekiden::promise<void>> asked;
    bool is_over = false;
    std::thread answers([&] {
        for (bool last = false; !last; std::this_thread::sleep_for(100us)) {
            std::vector<ekiden::promise<void>> now;
            {
                const std::lock_guard guard(lock);
                now.swap(asked);
                last = is_over;
            }
            for (ekiden::promise<void>& one : now) one.set_value();
        }
    });
    stack_depth stack;
    ekiden::thread_pool pool({.threads = threads});
    const auto ask = [&](int) {
        stack.look();
        ekiden::promise<void> one;
        ekiden::future<void> answer = one.get_future();
        {
            const std::lock_guard guard(lock);
            asked.push_back(std::move(one));
        }
        answer.get();
    };
    pool.submit([&] { parallel_for(0, 1000, ask); }).get();
    {
        const std::lock_guard guard(lock);
        is_over = true;
    }
    answers.join();
    CHECK(stack.most() < 256 * 1024);
}

TEST_CASE("an exception ends a parallel_for early and is thrown") {
    ekiden::thread_pool pool({.threads = 2});
    std::atomic<long> calls = 0;
    CHECK_THROWS_WITH(parallel_for(pool, 0, 10'000'000,
                                   [&](int i) {
                                       ++calls;
                                       if (i == 5) throw std::runtime_error("five");
                                   }),
                      "five");
    CHECK(calls < 10'000'000);
}

TEST_CASE("a stop token ends a parallel_for early") {
    ekiden::thread_pool pool({.threads = 2});
    std::stop_source source;
    std::atomic<long> calls = 0;
    const bool all = parallel_for(pool, 0, 10'000'000,
                                  [&](int) {
                                      if (++calls == 1000) source.request_stop();
                                  },
                                  {.stop = source.get_token()});
    CHECK_FALSE(all);
    CHECK(calls >= 1000);
    CHECK(calls < 10'000'000);
}

TEST_CASE("a stop request before the call is the same to all parallel algorithms: nothing is done") {
    std::stop_source source;
    source.request_stop();
    const loop_options stopped{.stop = source.get_token()};
    std::vector<int> numbers{3, 1, 2};
    const auto never = [](int) {
        CHECK(false);
        return 0;
    };
    CHECK_FALSE(parallel_for(0, 5, never, stopped));
    CHECK_FALSE(parallel_for(5, 5, never, stopped));
    CHECK_FALSE(parallel_for_each(numbers, never, stopped));
    CHECK_FALSE(parallel_transform(numbers, numbers.begin(), never, stopped));
    CHECK_FALSE(parallel_sort(numbers, std::less<>(), stopped));
    CHECK(numbers == std::vector<int>{3, 1, 2});
    CHECK_THROWS_AS((void)parallel_reduce(0, 5, 0, never, std::plus<>(), stopped), std::system_error);
    CHECK_THROWS_AS((void)parallel_reduce(numbers, 0, never, std::plus<>(), stopped), std::system_error);
}

TEST_CASE("a stop request meanwhile is the same to all parallel algorithms: they end early and say so") {
    ekiden::thread_pool pool({.threads = 2});
    const long count = 200'000;
    std::vector<int> numbers(count);
    for (std::size_t i = 0; i != numbers.size(); ++i)
        numbers[i] = static_cast<int>((i * 2'654'435'761U) % 1'000'003);
    for (int algorithm = 0; algorithm != 4; ++algorithm) {
        std::stop_source source;
        const loop_options until_stopped{.stop = source.get_token()};
        std::atomic<long> calls = 0;
        const auto call = [&](int n) {
            if (++calls == 1000) source.request_stop();
            return n;
        };
        const auto less = [&](int a, int b) { return call(a) < b; };
        auto copy = numbers;
        switch (algorithm) {
        case 0:
            CHECK_FALSE(parallel_for_each(pool, copy, call, until_stopped));
            break;
        case 1:
            CHECK_FALSE(parallel_transform(pool, copy, copy.begin(), call, until_stopped));
            break;
        case 2:
            CHECK_FALSE(parallel_sort(pool, copy, less, until_stopped));
            break;
        default:
            CHECK_THROWS_AS((void)parallel_reduce(pool, copy, 0L, call, std::plus<>(), until_stopped),
                            std::system_error);
        }
        CHECK(calls >= 1000);
        CHECK(calls < (algorithm == 2 ? 10 * count : count));
        // Nothing is lost.
        std::sort(copy.begin(), copy.end());
        auto sorted = numbers;
        std::sort(sorted.begin(), sorted.end());
        CHECK(copy == sorted);
    }
}

TEST_CASE("all parallel algorithms run in the pool that is their first argument") {
    ekiden::thread_pool pool({.threads = 1});
    const auto caller = std::this_thread::get_id();
    std::atomic<bool> elsewhere = false;
    const auto call = [&](int n) {
        if (std::this_thread::get_id() != caller && !pool.running_in_this_thread()) elsewhere = true;
        return n;
    };
    const auto less = [&](int a, int b) { return call(a) < b; };
    std::vector<int> numbers(100'000, 1);
    parallel_for(pool, 0, 10'000, call);
    parallel_for_each(pool, numbers, call);
    parallel_for_each(pool, numbers.begin(), numbers.end(), call);
    parallel_transform(pool, numbers, numbers.begin(), call);
    parallel_sort(pool, numbers, less);
    parallel_sort(pool, numbers.begin(), numbers.end(), less);
    CHECK(parallel_reduce(pool, 0, 10, 0, call, std::plus<>()) == 45);
    CHECK(parallel_reduce(pool, numbers, 0L, call) == 100'000);
    CHECK_FALSE(elsewhere);
}

TEST_CASE("progress goes up to the total, without doubling, and not too often") {
    ekiden::thread_pool pool({.threads = 2});
    std::vector<std::size_t> reports; // one call at a time
    parallel_for(pool, 0, 100'000, [](int) {}, {.progress = [&](std::size_t done, std::size_t total) {
                     CHECK(total == 100'000);
                     reports.push_back(done);
                 }});
    REQUIRE_FALSE(reports.empty());
    CHECK(reports.back() == 100'000);
    CHECK(std::is_sorted(reports.begin(), reports.end()));
    CHECK(reports.size() <= 110);
}

TEST_CASE("parallel_for_each takes ranges and iterators, with and without random access") {
    std::vector<int> numbers(1000, 1);
    parallel_for_each(numbers, [](int& n) { ++n; });
    parallel_for_each(numbers.begin(), numbers.begin() + 500, [](int& n) { ++n; });
    CHECK(numbers[0] == 3);
    CHECK(numbers[999] == 2);
    std::list<int> list(100, 1);
    parallel_for_each(list, [](int& n) { ++n; });
    CHECK(list == std::list<int>(100, 2));
    std::set<int> set{1, 2, 3};
    std::atomic<int> sum = 0;
    parallel_for_each(set, [&](int n) { sum += n; });
    CHECK(sum == 6);
}

TEST_CASE("parallel_transform assigns the images, also in place") {
    std::vector<int> in(10'000);
    for (std::size_t i = 0; i != in.size(); ++i) in[i] = static_cast<int>(i);
    std::vector<long> out(in.size());
    parallel_transform(in, out.begin(), [](int n) { return 2L * n; });
    parallel_transform(in, in.begin(), [](int n) { return n + 1; });
    bool right = true;
    for (std::size_t i = 0; i != in.size(); ++i)
        right = right && out[i] == 2 * static_cast<long>(i) && in[i] == static_cast<int>(i) + 1;
    CHECK(right);
}

TEST_CASE("parallel_reduce keeps the order of what it combines") {
    ekiden::thread_pool pool({.threads = 3});
    const auto digit = [](int i) {
        if (i % 100 == 0) spin(20us);
        return std::string(1, static_cast<char>('a' + i % 26));
    };
    std::string expected;
    for (int i = 0; i != 2000; ++i) expected += static_cast<char>('a' + i % 26);
    for (const bool deterministic : {false, true}) {
        CHECK(parallel_reduce(pool, 0, 2000, std::string(), digit, std::plus<>(),
                              {.grain = 7, .deterministic = deterministic})
              == expected);
    }
    CHECK(parallel_reduce(pool, 0, 2000, std::string(), digit, std::plus<>()) == expected);
    CHECK(parallel_reduce(0, 0, std::string("identity"), digit, std::plus<>()) == "identity");
    std::vector<int> numbers(1000, 2);
    CHECK(parallel_reduce(numbers, 0L) == 2000);
    CHECK(parallel_reduce(numbers, 0L, [](int n) { return n * 10L; }) == 20'000);
}

namespace {

/// As a program's amount of money: converts to a number and back, and says how often it is copied.
struct amount {
    static inline std::atomic<int> copies = 0;

    amount(long n) : cents(n) {}
    amount(const amount& other) : cents(other.cents) { ++copies; }
    amount(amount&&) = default;
    amount& operator=(const amount&) = delete;
    amount& operator=(amount&&) = default;
    ~amount() = default;
    operator long() const { return cents; }

    long cents;
};

} // namespace

TEST_CASE("An exception of combine ends a parallel_reduce") {
    struct image {};
    struct sum {
        int of = 0;
    };
    struct combine {
        sum operator()(sum all, image) const { return {all.of + 1}; }
        sum operator()(sum, sum) const { throw std::runtime_error("combine"); }
    };
    ekiden::thread_pool pool({.threads = 1});
    constexpr int total = 20'000;
    for (const std::size_t grain : {1, 4}) {
        std::atomic<int> maps{0};
        const auto map = [&maps](int) {
            ++maps;
            return image();
        };
        CHECK_THROWS_WITH((void)parallel_reduce(pool, 0, total, sum(), map, combine(),
                                                {.grain = grain, .deterministic = true}),
                          "combine");
        CHECK(maps < total / 2);
    }
}

TEST_CASE("parallel_reduce copies the identity, and no sum") {
    ekiden::thread_pool pool({.threads = 1});
    const auto map = [](int i) { return amount(i); };
    const auto add = [](amount a, amount b) { return a.cents + b.cents; }; // no amount, but becomes one
    for (const int n : {0, 1, 10}) {
        amount::copies = 0;
        CHECK(parallel_reduce(pool, 0, n, amount(0), map, add).cents == n * (n - 1) / 2);
        if (n <= 1) CHECK(amount::copies == 1);
    }
}

TEST_CASE("a deterministic parallel_reduce gives the same floating-point sum each time") {
    ekiden::thread_pool pool({.threads = 3});
    const auto term = [](int i) { return 1.0 / (1 + i); };
    const auto sum = [&](std::size_t grain) {
        return parallel_reduce(pool, 0, 200'000, 0.0, term, std::plus<>(),
                               {.grain = grain, .deterministic = true});
    };
    const double once = sum(100);
    for (int round = 0; round != 20; ++round) CHECK(sum(100) == once);
    CHECK(sum(200'000) == doctest::Approx(once));
}

TEST_CASE("an exception of a reduction is thrown") {
    for (const bool deterministic : {false, true}) {
        CHECK_THROWS_WITH((void)parallel_reduce(0, 100'000, 0,
                                                [](int i) {
                                                    if (i == 77'777) throw std::runtime_error("seven");
                                                    return 1;
                                                },
                                                std::plus<>(), {.deterministic = deterministic}),
                          "seven");
    }
}

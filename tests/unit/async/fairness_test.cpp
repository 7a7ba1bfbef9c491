// Two coroutines that wake each other do not keep a third one from its turn.
#include "../effort.hpp"
#include "lock_support.hpp"

#include <ekiden/async/async_buffer.hpp>
#include <ekiden/async/async_lock.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/bounded_buffer.hpp>
#include <ekiden/sync/counting_semaphore.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <coroutine>
#include <thread>
#include <utility>

using namespace ekiden;
using ekiden_test::until;
using lock_support::spawner;

namespace {

/// By two buffers with room for one.
class by_buffers {
public:
    template <int Side>
    coroutine<> hand_over() {
        const queue_status pushed = co_await async_push(Side == 0 ? there_ : back_, 1);
        const auto got = co_await async_pop(Side == 0 ? back_ : there_);
        is_right_ = is_right_ && (is_over_ || (pushed == queue_status::done && got.has_value()));
    }
    /// The first of the two ends: the other one may wait for it once more.
    void finish() {
        is_over_ = true;
        there_.close();
        back_.close();
    }
    [[nodiscard]] bool is_right() const noexcept { return is_right_; }

private:
    bounded_buffer<int> there_{1};
    bounded_buffer<int> back_{1};
    bool is_over_ = false;
    bool is_right_ = true;
};

/// By two semaphores.
class by_semaphores {
public:
    template <int Side>
    coroutine<> hand_over() {
        (Side == 0 ? there_ : back_).release();
        co_await async_acquire(Side == 0 ? back_ : there_);
    }
    void finish() {
        there_.release();
        back_.release();
    }
    [[nodiscard]] bool is_right() const noexcept { return is_right_; }

private:
    counting_semaphore<> there_{0};
    counting_semaphore<> back_{0};
    bool is_right_ = true;
};

/// By symmetric transfer: an awaiter of another library, which goes on with the one that waits.
class by_transfer {
    class turn {
    public:
        explicit turn(std::coroutine_handle<>& waiting) noexcept : waiting_(waiting) {}
        static bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<> own) const noexcept {
            const auto other = std::exchange(waiting_, own);
            return other ? other : std::noop_coroutine();
        }
        static void await_resume() noexcept {}

    private:
        std::coroutine_handle<>& waiting_;
    };

public:
    template <int Side>
    coroutine<> hand_over() {
        co_await turn(waiting_);
    }
    void finish() {
        if (waiting_) std::exchange(waiting_, nullptr).resume();
    }
    [[nodiscard]] static bool is_right() noexcept { return true; }

private:
    std::coroutine_handle<> waiting_;
};

/// A single thread that runs all: what starves there, starves.
class on_pool {
public:
    [[nodiscard]] any_executor executor() { return pool_.get_executor(); }

private:
    thread_pool pool_{1};
};
class on_loop {
public:
    on_loop() : thread_([this] { loop_.run(); }) {}
    ~on_loop() {
        loop_.get_executor().on_work_finished();
        thread_.join();
    }
    on_loop(const on_loop&) = delete;
    on_loop& operator=(const on_loop&) = delete;
    [[nodiscard]] any_executor executor() { return loop_.get_executor(); }

private:
    loop_context loop_;
    const bool works_ = (loop_.get_executor().on_work_started(), true);
    std::thread thread_;
};
class on_strand {
public:
    [[nodiscard]] any_executor executor() { return strand_; }

private:
    thread_pool pool_{1};
    strand<thread_pool::executor_type> strand_{pool_.get_executor()};
};

template <class Place, class Way>
struct pair_on {
    using place = Place;
    using way = Way;
};

} // namespace

#define EKIDEN_ALL_PAIRS                                                                                     \
    pair_on<on_pool, by_buffers>, pair_on<on_pool, by_semaphores>, pair_on<on_pool, by_transfer>,            \
        pair_on<on_loop, by_buffers>, pair_on<on_loop, by_semaphores>, pair_on<on_loop, by_transfer>,        \
        pair_on<on_strand, by_buffers>, pair_on<on_strand, by_semaphores>, pair_on<on_strand, by_transfer>

TEST_CASE_TEMPLATE("rule: a pair in ping-pong starves neither a plain post nor a third coroutine", Pair,
                   EKIDEN_ALL_PAIRS) {
    // Of a pair that nobody gets past; one that others get past makes some hundred hops.
    static constexpr long most = ekiden_test::rounds(20'000'000);
    typename Pair::way pair;
    std::atomic<bool> is_over{false};
    std::atomic<long> hops{0};
    long worst_of_third = 0;
    long worst_of_posts = 0;
    std::atomic<bool> third_has_ended{false};
    bool is_right = true;
    {
        typename Pair::place place;
        const any_executor here = place.executor();
        spawner coroutines(here);
        const auto has_starved = [&hops](long before) { return hops - before > most; };
        const auto side = [&](auto number) {
            coroutines.spawn([&]() -> coroutine<> {
                while (!is_over) {
                    co_await pair.template hand_over<decltype(number)::value>();
                    ++hops;
                }
                pair.finish();
            });
        };
        side(std::integral_constant<int, 0>());
        side(std::integral_constant<int, 1>());
        until([&] { return hops > 1000; });
        coroutines.spawn([&]() -> coroutine<> { // the third
            for (int i = 0; i != 100 && !is_over; ++i) {
                const long before = hops;
                co_await yield();
                worst_of_third = std::max(worst_of_third, hops - before);
            }
            third_has_ended = true;
        });
        for (int i = 0; i != 100; ++i) {
            std::atomic<long> at{-1};
            here.post([&] { at = hops.load(); });
            const long before = hops; // the post has returned: from now on the pair's thread alone counts
            until([&] { return at >= 0 || has_starved(before); });
            if (at < 0) {
                is_right = false;
                is_over = true;
            }
            until([&] { return at >= 0; });
            worst_of_posts = std::max(worst_of_posts, at - before);
        }
        const long before = hops;
        until([&] { return third_has_ended || has_starved(before); });
        is_right = is_right && third_has_ended;
        is_over = true;
        coroutines.join();
    }
    MESSAGE("hops meanwhile, at most: " << worst_of_posts << " for a post, " << worst_of_third
                                        << " for a third coroutine");
    CHECK(is_right);
    CHECK(pair.is_right());
}

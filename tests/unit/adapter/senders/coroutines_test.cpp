#include "senders.hpp"

#include "../counting_allocator.hpp"

#include <ekiden/adapter/std_execution/as_sender.hpp>
#include <ekiden/adapter/std_execution/await_sender.hpp>
#include <ekiden/adapter/std_execution/scope_token.hpp>
#include <ekiden/async.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

using namespace ekiden_test;
using namespace std::chrono_literals;

namespace {

struct fails_with_code {
    using sender_concept = ex::sender_tag;
    template <class, class...>
    static consteval auto get_completion_signatures() noexcept {
        return ex::completion_signatures<ex::set_value_t(int), ex::set_error_t(std::error_code)>();
    }
    template <class Receiver>
    struct operation {
        using operation_state_concept = ex::operation_state_tag;
        void start() & noexcept {
            ex::set_error(std::move(receiver), std::make_error_code(std::errc::io_error));
        }
        Receiver receiver;
    };
    template <class Receiver>
    operation<Receiver> connect(Receiver receiver) const {
        return {std::move(receiver)};
    }
};

/// A sender that completes with set_stopped() when a stop is requested, and never otherwise.
struct until_stopped {
    using sender_concept = ex::sender_tag;
    template <class, class...>
    static consteval auto get_completion_signatures() noexcept {
        return ex::completion_signatures<ex::set_value_t(), ex::set_stopped_t()>();
    }
    template <class Receiver>
    struct operation {
        using operation_state_concept = ex::operation_state_tag;
        struct on_stop {
            operation* self;
            void operator()() noexcept { self->arrive(); }
        };
        using token = ex_tokens::stop_token_of_t<ex::env_of_t<Receiver>>;
        void start() & noexcept {
            ++*begun;
            callback.emplace(ex_tokens::get_stop_token(ex::get_env(receiver)), on_stop{this});
            arrive();
        }
        /// The later one of start() and the stop request completes the operation.
        void arrive() noexcept {
            if (has_arrived.exchange(true)) ex::set_stopped(std::move(receiver));
        }
        Receiver receiver;
        std::atomic<int>* begun;
        std::optional<ex_tokens::stop_callback_for_t<token, on_stop>> callback = std::nullopt;
        std::atomic<bool> has_arrived{false};
    };
    template <class Receiver>
    operation<Receiver> connect(Receiver receiver) const {
        return {std::move(receiver), begun};
    }
    std::atomic<int>* begun;
};

ekiden::coroutine<int> await_values(ekiden::thread_pool& other, const ekiden::any_executor home,
                                    int& at_home) {
    const auto there = ekiden::as_scheduler(other);
    co_await ex::schedule(there);
    at_home += ekiden::running_in_this_thread(home) ? 1 : 0;
    const int one = co_await (ex::schedule(there) | ex::then([] { return 20; }));
    at_home += ekiden::running_in_this_thread(home) ? 1 : 0;
    auto sender = ex::when_all(ex::just(20), ex::schedule(there) | ex::then([] { return std::string("2"); }));
    const auto [two, text] = co_await std::move(sender);
    at_home += ekiden::running_in_this_thread(home) ? 1 : 0;
    const int done = co_await ex::just(1); // completes inside of start()
    co_return one + two + std::stoi(text) + done;
}

} // namespace

TEST_CASE("a coroutine awaits senders, and comes back to its executor") {
    ekiden::thread_pool pool(1);
    ekiden::thread_pool other(1);
    const ekiden::strand home(pool.get_executor());
    int at_home = 0;
    const int result = ekiden::sync_wait(home, await_values(other, home, at_home));
    CHECK(result == 43);
    CHECK(at_home == 3);
}

TEST_CASE("an error of a sender is thrown by co_await") {
    ekiden::thread_pool pool(1);
    const auto body = [&]() -> ekiden::coroutine<int> {
        int caught = 0;
        try {
            co_await (ex::schedule(ekiden::as_scheduler(pool))
                      | ex::then([] { throw std::runtime_error("reason"); }));
        } catch (const std::runtime_error&) {
            ++caught;
        }
        try {
            (void)co_await fails_with_code();
        } catch (const std::system_error& e) {
            caught += e.code() == std::errc::io_error ? 1 : 0;
        }
        co_return caught;
    };
    CHECK(ekiden::sync_wait(pool.get_executor(), body) == 2);
}

TEST_CASE("the environment of an awaited sender has the executor, the stop and the deadline") {
    ekiden::thread_pool pool(1);
    const auto body = [&]() -> ekiden::coroutine<void> {
        const auto scheduler = co_await ex::read_env(ex::get_scheduler);
        CHECK(scheduler.get_executor() == ekiden::any_executor(pool.get_executor()));
        const auto time = co_await ex::read_env(ekiden::get_deadline);
        CHECK(time == ekiden::sys::clock::time_point::max());
        // The token is valid until the sender has completed.
        auto asked = ex::read_env(ex_tokens::get_stop_token)
                     | ex::then([](auto token) { return token.stop_possible() && !token.stop_requested(); });
        CHECK(co_await std::move(asked));
    };
    ekiden::sync_wait(pool.get_executor(), body);
}

TEST_CASE("a stop and a deadline of the coroutine stop the sender that it awaits") {
    ekiden::thread_pool pool(2);
    std::atomic<int> begun{0};
    const auto waits = [&]() -> ekiden::coroutine<void> { co_await until_stopped{&begun}; };
    std::stop_source source;
    auto stopped = ekiden::co_spawn(pool.get_executor(), waits, ekiden::use_future,
                                    ekiden::spawn_options().stop(source.get_token()));
    while (begun == 0) std::this_thread::yield();
    source.request_stop();
    CHECK_THROWS_AS(stopped.get(), std::system_error);

    const auto limited = [&]() -> ekiden::coroutine<void> {
        co_await ekiden::with_deadline(ekiden::sys::clock::now() + 5ms, waits);
    };
    CHECK_THROWS_AS(ekiden::sync_wait(pool.get_executor(), limited), std::system_error);
    CHECK(begun == 2);

    source = std::stop_source();
    source.request_stop(); // before the await
    auto late = ekiden::co_spawn(pool.get_executor(), waits, ekiden::use_future,
                                 ekiden::spawn_options().stop(source.get_token()));
    CHECK_THROWS_AS(late.get(), std::system_error);
}

TEST_CASE("stops and completions of awaited senders may meet") {
    ekiden::thread_pool pool(2);
    for (int i = 0; i != 300; ++i) {
        std::stop_source source;
        std::atomic<int> begun{0};
        const auto body = [&]() -> ekiden::coroutine<void> {
            ++begun;
            for (;;) co_await (ex::schedule(ekiden::as_scheduler(pool)) | ex::then([]() noexcept {}));
        };
        auto ended = ekiden::co_spawn(pool.get_executor(), body, ekiden::use_future,
                                      ekiden::spawn_options().stop(source.get_token()));
        while (begun == 0) std::this_thread::yield();
        source.request_stop();
        CHECK_THROWS_AS(ended.get(), std::system_error);
    }
}

TEST_CASE("a coroutine that is dropped while it awaits leaves its sender, which completes later") {
    ekiden::thread_pool other(1);
    std::atomic<int> completed{0};
    auto kept = std::make_shared<int>(1);
    {
        ekiden::loop_context loop;
        const auto body = [&, kept]() -> ekiden::coroutine<void> {
            // A variable, because g++ 12 destroys the captures of a lambda in an awaited expression twice.
            auto sender =
                ex::schedule(ekiden::as_scheduler(other)) | ex::then([&, kept]() noexcept { ++completed; });
            co_await std::move(sender);
        };
        other.pause();
        ekiden::co_spawn(loop.get_executor(), body);
        loop.poll();
    }
    CHECK(completed == 0);
    other.resume();
    other.wait_idle();
    CHECK(completed <= 1); // the operation was stopped or has completed
    CHECK(kept.use_count() == 1);
}

namespace {

ekiden::coroutine<int> doubled(int i) {
    co_await ekiden::yield();
    co_return 2 * i;
}
struct no_default {
    explicit no_default(int i) : value(i) {}
    int value;
};

} // namespace

TEST_CASE("as_sender runs a coroutine, and completes with its result, error or stop") {
    ekiden::thread_pool pool(1);
    const auto e = pool.get_executor();
    static_assert(ex::sender<decltype(ekiden::as_sender(e, doubled(1)))>);
    const auto [two] =
        *ekiden::sync_wait(ekiden::as_sender(e, doubled(1)) | ex::then([](int i) { return i; }));
    CHECK(two == 2);
    bool was_inside = false;
    const auto lambda = [&]() -> ekiden::coroutine<void> {
        was_inside = pool.running_in_this_thread();
        co_return;
    };
    CHECK(ekiden::sync_wait(ekiden::as_sender(e, lambda)).has_value());
    CHECK(was_inside);
    const auto plain = []() -> ekiden::coroutine<no_default> { co_return no_default(5); };
    CHECK(std::get<0>(*ekiden::sync_wait(ekiden::as_sender(e, plain))).value == 5);
    const auto throws = []() -> ekiden::coroutine<int> {
        throw std::runtime_error("reason");
        co_return 1;
    };
    in_worker(pool,
              [&] { CHECK_THROWS_AS(ekiden::sync_wait(ekiden::as_sender(e, throws)), std::runtime_error); });

    // An error of one part stops the coroutine, which waits for the stop.
    std::atomic<int> begun{0};
    const auto waits = [&]() -> ekiden::coroutine<void> { co_await until_stopped{&begun}; };
    in_worker(pool, [&] {
        CHECK_THROWS_AS(
            ekiden::sync_wait(ex::when_all(ekiden::as_sender(e, waits), ekiden::as_sender(e, throws))),
            std::runtime_error);
    });
    pool.stop();
    CHECK_FALSE(ekiden::sync_wait(ekiden::as_sender(e, doubled(1))).has_value()); // the pool drops it
}

namespace {

/// A receiver whose environment has an allocator.
struct receiver_with_allocator {
    using receiver_concept = ex::receiver_tag;
    struct env {
        [[nodiscard]] counting_allocator<std::byte> query(ex_tokens::get_allocator_t) const noexcept {
            return counting_allocator<std::byte>(*counts);
        }
        allocations* counts;
    };
    void set_value(int result) && noexcept { done->set_value(result); }
    void set_error(std::exception_ptr error) && noexcept { done->set_exception(std::move(error)); }
    void set_stopped() && noexcept { done->set_value(-1); }
    [[nodiscard]] env get_env() const noexcept { return {counts}; }

    std::promise<int>* done;
    allocations* counts;
};

} // namespace

TEST_CASE("as_sender allocates the root of its coroutine by the allocator of the receiver") {
    allocations counts;
    {
        ekiden::thread_pool pool(1);
        std::promise<int> done;
        auto operation = ex::connect(ekiden::as_sender(pool.get_executor(), doubled(21)),
                                     receiver_with_allocator{&done, &counts});
        CHECK(counts.taken == 0);
        ex::start(operation);
        CHECK(done.get_future().get() == 42);
    }
    CHECK(counts.taken == 1);
    CHECK(counts.out == 0);
}

TEST_CASE("an async_scope waits for the senders that its token has spawned") {
    static_assert(ex::scope_token<ekiden::scope_token>);
    static_assert(ex::scope_association<ekiden::scope_association>);
    ekiden::thread_pool pool(2);
    ekiden::thread_pool other(1);
    std::atomic<int> ran{0};
    int result = 0;
    const auto body = [&]() -> ekiden::coroutine<void> {
        ekiden::async_scope scope(co_await ekiden::get_environment());
        const auto token = ekiden::get_scope_token(scope);
        for (int i = 0; i != 1000; ++i)
            ex::spawn(ex::schedule(ekiden::as_scheduler(other)) | ex::then([&]() noexcept { ++ran; }),
                      ekiden::scope_token(token));
#if defined(EKIDEN_TEST_SENDERS_stdexec) // spawn_future() of Beman does not compile with this token
        auto future = ex::spawn_future(ex::schedule(ekiden::as_scheduler(other))
                                           | ex::then([]() noexcept { return 5; }),
                                       ekiden::scope_token(token));
        result = co_await std::move(future);
#else
        result = 5;
#endif
        auto associated = ex::associate(ex::schedule(ekiden::as_scheduler(other)), ekiden::scope_token(token))
                          | ex::then([]() noexcept { return 6; });
        result += co_await std::move(associated);
        co_await scope.wait();
        CHECK(ran == 1000);
        CHECK(scope.size() == 0);
        // The scope is closed now.
        CHECK_FALSE(static_cast<bool>(token.try_associate()));
        ex::spawn(ex::schedule(ekiden::as_scheduler(other)) | ex::then([&]() noexcept { ++ran; }),
                  ekiden::scope_token(token));
    };
    ekiden::sync_wait(pool.get_executor(), body);
    CHECK(result == 11);
    CHECK(ran == 1000);
}

TEST_CASE("a stop of an async_scope stops the senders of its token, once") {
    ekiden::thread_pool pool(2);
    for (int round = 0; round != 100; ++round) {
        std::atomic<int> begun{0};
        const auto body = [&]() -> ekiden::coroutine<void> {
            ekiden::async_scope scope(co_await ekiden::get_environment());
            const auto token = ekiden::get_scope_token(scope);
            std::future<bool> stop;
            if (round % 2 == 0)
                stop = std::async(std::launch::async, [&] { return scope.request_stop(); }); // meanwhile
            for (int i = 0; i != 3; ++i) ex::spawn(until_stopped{&begun}, ekiden::scope_token(token));
            CHECK((round % 2 == 0 ? stop.get() : scope.request_stop()));
            co_await scope.wait();
        };
        ekiden::sync_wait(pool.get_executor(), body);
        CHECK(begun == 3);
    }
    // The receiver's own token also stops the operation.
    std::atomic<int> begun{0};
    const auto body = [&]() -> ekiden::coroutine<void> {
        ekiden::async_scope scope(co_await ekiden::get_environment());
        const auto token = ekiden::get_scope_token(scope);
        ex_tokens::inplace_stop_source source;
        ex::spawn(ex::write_env(token.wrap(until_stopped{&begun}),
                                ex::prop(ex_tokens::get_stop_token, source.get_token())),
                  ekiden::scope_token(token));
        CHECK(scope.size() == 1);
        source.request_stop();
        CHECK(scope.size() == 0);
        co_await scope.wait();
    };
    ekiden::sync_wait(pool.get_executor(), body);
}

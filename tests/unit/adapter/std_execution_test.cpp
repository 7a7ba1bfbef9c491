#include "minimal_senders.hpp"

#define EKIDEN_SENDERS minimal_senders
#define EKIDEN_SENDERS_TOKENS minimal_senders
#include <ekiden/adapter/std_execution/scheduler.hpp>

#include "places.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

namespace {

using namespace ekiden_test;
namespace ex = minimal_senders;

enum class ending { none, value, error, stopped };

struct outcome {
    std::atomic<ending> how{ending::none};
    std::error_code code;
    bool was_inside = false;
};

struct env_with_token {
    [[nodiscard]] std::stop_token query(ex::get_stop_token_t) const noexcept { return token; }
    std::stop_token token;
};

/// `E`: where it should be called.
template <class E>
struct plain_receiver {
    using receiver_concept = ex::receiver_t;
    void set_value() && noexcept { end(ending::value); }
    void set_stopped() && noexcept { end(ending::stopped); }
    void set_error(const std::exception_ptr& error) && noexcept {
        try {
            std::rethrow_exception(error);
        } catch (const std::system_error& e) {
            to->code = e.code();
        }
        end(ending::error);
    }
    void end(ending how) const noexcept {
        to->was_inside = ekiden::runs_here(where);
        CHECK(to->how.exchange(how) == ending::none);
    }
    E where;
    outcome* to;
};
template <class E>
struct stoppable_receiver : plain_receiver<E> {
    [[nodiscard]] env_with_token get_env() const noexcept { return {token}; }
    std::stop_token token;
};

} // namespace

TEST_CASE_TEMPLATE("an executor of ours is a scheduler, and completes where it runs", Place,
                   EKIDEN_ALL_PLACES) {
    Place place;
    const auto e = place.executor();
    using executor_type = std::decay_t<decltype(e)>;
    const auto scheduler = ekiden::as_scheduler(e);
    static_assert(ex::scheduler<std::decay_t<decltype(scheduler)>>);
    CHECK(scheduler == ekiden::as_scheduler(place.executor()));
    auto sender = scheduler.schedule();
    static_assert(ex::sender_in<decltype(sender), ex::empty_env>);
    CHECK(ex::get_completion_scheduler<ex::set_value_t>(ex::get_env(sender)) == scheduler);

    outcome plain;
    outcome stoppable;
    std::stop_source source;
    auto first = sender.connect(plain_receiver<executor_type>{e, &plain});
    auto second = sender.connect(stoppable_receiver<executor_type>{{e, &stoppable}, source.get_token()});
    static_assert(ex::operation_state<decltype(first)>);
    first.start();
    second.start();
    place.finish();
    CHECK(plain.how == ending::value);
    CHECK(plain.was_inside);
    CHECK(stoppable.how == ending::value);
    CHECK(stoppable.was_inside);
}

TEST_CASE("set_stopped is a completion only where the token can stop") {
    ekiden::thread_pool pool(1);
    auto sender = ekiden::as_scheduler(pool).schedule();
    using without = ex::completion_signatures<ex::set_value_t(), ex::set_error_t(std::exception_ptr)>;
    using with = ex::completion_signatures<ex::set_value_t(), ex::set_error_t(std::exception_ptr),
                                           ex::set_stopped_t()>;
    CHECK(std::is_same_v<decltype(sender.get_completion_signatures(ex::empty_env())), without>);
    CHECK(std::is_same_v<decltype(sender.get_completion_signatures(env_with_token())), with>);
    using type = decltype(sender);
    CHECK(std::is_same_v<decltype(type::get_completion_signatures<type, ex::empty_env>()), without>);
    CHECK(std::is_same_v<decltype(type::get_completion_signatures<type, env_with_token>()), with>);
}

TEST_CASE_TEMPLATE("what is stopped before its turn completes so, on the executor", Place,
                   EKIDEN_ALL_PLACES) {
    Place place;
    const auto e = place.executor();
    using executor_type = std::decay_t<decltype(e)>;
    outcome stopped;
    std::stop_source source;
    source.request_stop();
    auto operation = ekiden::as_scheduler(e).schedule().connect(
        stoppable_receiver<executor_type>{{e, &stopped}, source.get_token()});
    operation.start();
    place.finish();
    CHECK(stopped.how == ending::stopped);
    CHECK(stopped.was_inside);
}

TEST_CASE("what the context does not take, or drops, completes") {
    outcome plain;
    outcome stoppable;
    outcome late;
    std::stop_source source;
    using executor_type = ekiden::thread_pool::executor_type;
    ekiden::thread_pool pool(1);
    const executor_type e = pool.get_executor();
    const auto sender = ekiden::as_scheduler(pool).schedule();
    auto queued = sender.connect(plain_receiver<executor_type>{e, &plain});
    auto also = sender.connect(stoppable_receiver<executor_type>{{e, &stoppable}, source.get_token()});
    pool.pause();
    queued.start();
    also.start();
    pool.stop();
    pool.join();
    CHECK(plain.how == ending::error);
    CHECK(plain.code == std::errc::operation_canceled);
    CHECK(stoppable.how == ending::stopped);
    auto refused = sender.connect(plain_receiver<executor_type>{e, &late});
    refused.start();
    CHECK(late.how == ending::error);
}

namespace {

struct chain;
void go_on(chain& all);

struct restarting {
    using receiver_concept = ex::receiver_t;
    void set_value() && noexcept { go_on(*of); }
    void set_error(const std::exception_ptr&) && noexcept {}
    chain* of;
};

/// The operation is destroyed in its completion, and another one made in its place.
struct chain {
    ekiden::thread_pool::executor_type where;
    int left = 1000;
    using operation = decltype(ekiden::as_scheduler(where).schedule().connect(restarting{nullptr}));
    std::unique_ptr<operation> now = nullptr;
};
void go_on(chain& all) {
    all.now.reset();
    if (all.left-- == 0) return;
    all.now.reset(new chain::operation(ekiden::as_scheduler(all.where).schedule().connect(restarting{&all})));
    all.now->start();
}

} // namespace

TEST_CASE("an operation may be destroyed in its completion") {
    ekiden::thread_pool pool(2);
    chain all{pool.get_executor()};
    go_on(all);
    pool.wait_idle();
    CHECK(all.left == -1);
}

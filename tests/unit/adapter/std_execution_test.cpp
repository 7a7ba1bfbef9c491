#include "minimal_senders.hpp"

#define EKIDEN_SENDERS minimal_senders
#define EKIDEN_SENDERS_TOKENS minimal_senders
#define EKIDEN_SENDERS_SYNC_WAIT minimal_senders
#include <ekiden/adapter/std_execution/scheduler.hpp>

#include "counting_allocator.hpp"
#include "places.hpp"

#include "../child_process.hpp"
#include "../failing_allocations.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
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
    using receiver_concept = ex::receiver_tag;
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
        to->was_inside = ekiden::running_in_this_thread(where);
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
                   EKIDEN_ALL_PLACES, ekiden_test::on_lane_handle) {
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
    const auto check = [](auto sender, auto without, auto with) {
        using type = decltype(sender);
        CHECK(std::is_same_v<decltype(sender.get_completion_signatures(ex::empty_env())), decltype(without)>);
        CHECK(std::is_same_v<decltype(sender.get_completion_signatures(env_with_token())), decltype(with)>);
        CHECK(std::is_same_v<decltype(type::template get_completion_signatures<type, ex::empty_env>()),
                             decltype(without)>);
        CHECK(std::is_same_v<decltype(type::template get_completion_signatures<type, env_with_token>()),
                             decltype(with)>);
    };
    check(ekiden::as_scheduler(pool).schedule(), ex::completion_signatures<ex::set_value_t()>(),
          ex::completion_signatures<ex::set_value_t(), ex::set_stopped_t()>());
    check(ekiden::as_scheduler(ekiden::any_executor(pool.get_executor())).schedule(),
          ex::completion_signatures<ex::set_value_t(), ex::set_error_t(std::exception_ptr)>(),
          ex::completion_signatures<ex::set_value_t(), ex::set_error_t(std::exception_ptr),
                                    ex::set_stopped_t()>());
}

TEST_CASE("the schedulers of pools, loops and their strands are infallible") {
    using pool = ekiden::thread_pool::executor_type;
    using loop = ekiden::loop_context::executor_type;
    CHECK(ex::infallible_scheduler<ekiden::executor_scheduler<pool>>);
    CHECK(ex::infallible_scheduler<ekiden::executor_scheduler<loop>>);
    CHECK(ex::infallible_scheduler<ekiden::executor_scheduler<ekiden::strand<pool>>>);
    CHECK(ex::infallible_scheduler<ekiden::executor_scheduler<ekiden::strand<ekiden::strand<loop>>>>);
    CHECK_FALSE(ex::infallible_scheduler<ekiden::executor_scheduler<ekiden::any_executor>>);
    CHECK_FALSE(ex::infallible_scheduler<ekiden::executor_scheduler<ekiden::strand<ekiden::any_executor>>>);
    CHECK_FALSE(ex::infallible_scheduler<ekiden::executor_scheduler<ekiden::lanes<int>::executor_type>>);
}

namespace {

/// Appends its name to a text, or a question mark if it is not called inside the executor.
template <class E>
struct appending {
    using receiver_concept = ex::receiver_tag;
    void set_value() && noexcept { *to += where.running_in_this_thread() ? name : '?'; }
    E where;
    std::string* to;
    char name;
};

} // namespace

namespace {

using strand_scheduler = ekiden::executor_scheduler<ekiden::strand<ekiden::thread_pool::executor_type>>;
struct env_with_start {
    [[nodiscard]] strand_scheduler query(ex::get_start_scheduler_t) const noexcept { return start; }
    strand_scheduler start;
};
template <class E>
struct started_receiver : plain_receiver<E> {
    [[nodiscard]] env_with_start get_env() const noexcept { return {start}; }
    strand_scheduler start;
};

} // namespace

TEST_CASE("an affine sender completes on its start scheduler, without a second step if it is there already") {
    ekiden::thread_pool pool(1);
    const ekiden::strand home(pool.get_executor());
    const strand_scheduler start = ekiden::as_scheduler(home);
    using receiver = started_receiver<ekiden::strand<ekiden::thread_pool::executor_type>>;
    const auto tasks_of = [&](const auto& scheduler) {
        outcome one;
        auto operation = scheduler.schedule().affine().connect(receiver{{home, &one}, start});
        const std::uint64_t before = pool.metrics().tasks_run;
        operation.start();
        pool.wait_idle();
        CHECK(one.how == ending::value);
        CHECK(one.was_inside);
        return pool.metrics().tasks_run - before;
    };
    CHECK(tasks_of(start) == 1);
    CHECK(tasks_of(ekiden::as_scheduler(pool)) == 2);
}

namespace {

/// A scheduler whose operations allocate by the allocator of their receiver, and complete inside of start().
struct allocating_scheduler {
    struct sender {
        template <class Receiver>
        struct operation {
            void start() & noexcept {
                auto memory = ex::get_allocator(ex::get_env(receiver));
                memory.deallocate(memory.allocate(1), 1);
                std::move(receiver).set_value();
            }
            Receiver receiver;
        };
        template <class Receiver>
        operation<Receiver> connect(Receiver receiver) const {
            return {std::move(receiver)};
        }
    };
    [[nodiscard]] sender schedule() const noexcept { return {}; }
};
struct receiver_at_allocating_scheduler {
    using receiver_concept = ex::receiver_tag;
    struct env {
        [[nodiscard]] allocating_scheduler query(ex::get_start_scheduler_t) const noexcept { return {}; }
        [[nodiscard]] counting_allocator<int> query(ex::get_allocator_t) const noexcept {
            return counting_allocator<int>(*counts);
        }
        allocations* counts;
    };
    void set_value() && noexcept { ++*completed; }
    [[nodiscard]] env get_env() const noexcept { return {counts}; }

    allocations* counts;
    std::atomic<int>* completed;
};

} // namespace

TEST_CASE("the second step of an affine sender has the allocator of the receiver") {
    ekiden::thread_pool pool(1);
    allocations counts;
    std::atomic<int> completed{0};
    auto operation = ekiden::as_scheduler(pool).schedule().affine().connect(
        receiver_at_allocating_scheduler{&counts, &completed});
    operation.start();
    pool.wait_idle();
    CHECK(completed == 1);
    CHECK(counts.taken == 1);
}

TEST_CASE("operations by the handle of a lane and functions of the lane run in one order, and close() leaves "
          "them") {
    using all_lanes = ekiden::lanes<int, ekiden::thread_pool::executor_type>;
    using executor_type = all_lanes::lane_type::executor_type;
    CHECK(ex::infallible_scheduler<ekiden::executor_scheduler<executor_type>>);
    CHECK(ex::infallible_scheduler<ekiden::executor_scheduler<
              ekiden::lanes<int, ekiden::loop_context::executor_type>::lane_type::executor_type>>);
    CHECK_FALSE(
        ex::infallible_scheduler<ekiden::executor_scheduler<ekiden::lanes<int>::lane_type::executor_type>>);
    ekiden::thread_pool pool(2);
    all_lanes lanes(pool.get_executor());
    const auto handle = lanes.lane(7);
    const executor_type e = handle.get_executor();
    std::string order;
    const auto operation = [&](char name) {
        return ekiden::as_scheduler(handle).schedule().connect(appending<executor_type>{e, &order, name});
    };
    auto b = operation('b');
    auto d = operation('d');
    auto e5 = operation('e');
    auto f = operation('f');
    pool.pause();
    CHECK(lanes.post(7, [&] { order += 'a'; }));
    b.start();
    CHECK(lanes.post(handle, [&] { order += 'c'; }));
    d.start();
    CHECK(lanes.depth(7) == 4);
    pool.resume();
    lanes.wait_idle(handle);
    CHECK(order == "abcd");

    // The running function closes the lane. Operations stay in it, also those that are started meanwhile.
    order.clear();
    std::atomic<bool> has_begun{false};
    std::atomic<bool> may_end{false};
    CHECK(lanes.post(7, [&] {
        has_begun = true;
        while (!may_end) std::this_thread::yield();
        order += 'A';
    }));
    while (!has_begun) std::this_thread::yield();
    CHECK(lanes.post(7, [&] { order += 'x'; }));
    auto early = operation('1');
    early.start();
    CHECK(lanes.post(7, [&] { order += 'y'; }));
    CHECK(lanes.close(handle) == 2);
    e5.start();
    CHECK(lanes.post(7, [&] { order += 'z'; }));
    may_end = true;
    lanes.wait_idle(7);
    CHECK(order == "A1e");
    CHECK(lanes.post(7, [&] { order += 'B'; })); // the lane is open again
    f.start();
    lanes.wait_idle(7);
    CHECK(order == "A1eBf");
    CHECK(lanes.metrics().dropped == 3);
}

TEST_CASE("close() beneath a request with several keys leaves the operations of its lanes") {
    ekiden::thread_pool pool(2);
    ekiden::lanes<int, ekiden::thread_pool::executor_type> lanes(pool.get_executor());
    const auto handle = lanes.lane(1);
    const auto e = handle.get_executor();
    outcome one;
    auto operation =
        ekiden::as_scheduler(handle).schedule().connect(plain_receiver<std::decay_t<decltype(e)>>{e, &one});
    std::atomic<bool> has_begun{false};
    std::atomic<bool> may_end{false};
    CHECK(lanes.post(lanes.keys().write(1, 2), [&] {
        has_begun = true;
        while (!may_end) std::this_thread::yield();
    }));
    while (!has_begun) std::this_thread::yield();
    operation.start();
    CHECK(lanes.post(1, [] { FAIL("the lane is closed"); }));
    CHECK(lanes.close(1) == 1);
    CHECK(one.how == ending::none);
    may_end = true;
    lanes.wait_idle(1);
    CHECK(one.how == ending::value);
    CHECK(one.was_inside);
    bool has_run = false;
    CHECK(lanes.post(1, [&] { has_run = true; }));
    lanes.wait_idle(1);
    CHECK(has_run);
}

TEST_CASE("join() runs the operations of a lane that stop() has left, inside of the lane") {
    ekiden::thread_pool pool(2);
    outcome queued;
    outcome later;
    {
        ekiden::lanes<int, ekiden::thread_pool::executor_type> lanes(pool.get_executor());
        const auto handle = lanes.lane(1);
        const auto e = handle.get_executor();
        using executor_type = std::decay_t<decltype(e)>;
        const auto sender = ekiden::as_scheduler(handle).schedule();
        auto first = sender.connect(plain_receiver<executor_type>{e, &queued});
        auto second = sender.connect(plain_receiver<executor_type>{e, &later});
        pool.pause();
        first.start();
        pool.stop();
        second.start();
        pool.join();
        CHECK(queued.how == ending::value);
        CHECK(queued.was_inside);
        CHECK(later.how == ending::value);
        CHECK(later.was_inside);
    }
}

TEST_CASE("lanes with a capacity have no infallible scheduler") {
    ekiden::thread_pool pool(1);
    ekiden::lanes<int, ekiden::thread_pool::executor_type> bounded(pool.get_executor(), {.lane_capacity = 4});
    CHECK_THROWS_AS((void)ekiden::as_scheduler(bounded.lane(1)), std::invalid_argument);
}

TEST_CASE_TEMPLATE("what is stopped before its turn completes so, on the executor", Place, EKIDEN_ALL_PLACES,
                   ekiden_test::on_lane_handle) {
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

TEST_CASE("an executor that may drop an operation says so by set_error or set_stopped") {
    outcome plain;
    outcome stoppable;
    outcome late;
    std::stop_source source;
    ekiden::thread_pool pool(1);
    const ekiden::any_executor e = pool.get_executor();
    const auto sender = ekiden::as_scheduler(e).schedule();
    auto queued = sender.connect(plain_receiver<ekiden::any_executor>{e, &plain});
    auto also = sender.connect(stoppable_receiver<ekiden::any_executor>{{e, &stoppable}, source.get_token()});
    pool.pause();
    queued.start();
    also.start();
    pool.stop();
    pool.join();
    CHECK(plain.how == ending::error);
    CHECK(plain.code == std::errc::operation_canceled);
    CHECK(stoppable.how == ending::stopped);
    auto refused = sender.connect(plain_receiver<ekiden::any_executor>{e, &late});
    refused.start();
    CHECK(late.how == ending::error);
}

TEST_CASE("join() runs the operations that stop() has left, in order and inside the pool") {
    ekiden::thread_pool pool(2);
    const auto e = pool.get_executor();
    const ekiden::strand serial(e);
    using executor_type = ekiden::thread_pool::executor_type;
    using strand_type = ekiden::strand<executor_type>;
    outcome queued;
    outcome stopped;
    outcome in_strand;
    outcome later;
    std::stop_source source;
    const auto sender = ekiden::as_scheduler(pool).schedule();
    auto first = sender.connect(plain_receiver<executor_type>{e, &queued});
    auto second = sender.connect(stoppable_receiver<executor_type>{{e, &stopped}, source.get_token()});
    auto third =
        ekiden::as_scheduler(serial).schedule().connect(plain_receiver<strand_type>{serial, &in_strand});
    auto fourth =
        ekiden::as_scheduler(serial).schedule().connect(plain_receiver<strand_type>{serial, &later});
    pool.pause();
    first.start();
    second.start();
    third.start();
    pool.stop();
    fourth.start(); // the pool refuses tasks already
    source.request_stop();
    CHECK(later.how == ending::none);
    pool.join();
    CHECK(queued.how == ending::value);
    CHECK(queued.was_inside);
    CHECK(stopped.how == ending::stopped);
    CHECK(stopped.was_inside);
    CHECK(in_strand.how == ending::value);
    CHECK(in_strand.was_inside);
    CHECK(later.how == ending::value);
    CHECK(later.was_inside);
    const ekiden::thread_pool_metrics all = pool.metrics();
    CHECK(all.tasks_pending == 0);
}

TEST_CASE("an operation that no thread can complete ends the program with a message"
          * doctest::skip(!can_child_start_threads())) {
    outcome one;
    const auto start_on = [&](auto& context) {
        const auto e = context.get_executor();
        using executor_type = std::decay_t<decltype(e)>;
        // The operation is never destroyed, because the loop still contains it.
        auto* const operation = new auto(
            ekiden::as_scheduler(context).schedule().connect(plain_receiver<executor_type>{e, &one}));
        operation->start();
    };
    const child_result joined = run_in_child([&] {
        ekiden::thread_pool pool(1);
        pool.join();
        start_on(pool);
    });
    CHECK(joined.signal == SIGABRT);
    CHECK(joined.error_output.find("was started after join()") != std::string::npos);
    const child_result destroyed = run_in_child([&] {
        ekiden::loop_context loop;
        start_on(loop);
    });
    CHECK(destroyed.signal == SIGABRT);
    CHECK(destroyed.error_output.find("a loop_context is destroyed") != std::string::npos);
}

TEST_CASE("an operation of a stopped loop or of its strand completes after restart()") {
    ekiden::loop_context loop(1);
    const auto e = loop.get_executor();
    const ekiden::strand serial(e);
    outcome one;
    outcome two;
    auto operation = ekiden::as_scheduler(loop).schedule().connect(
        plain_receiver<ekiden::loop_context::executor_type>{e, &one});
    auto in_strand = ekiden::as_scheduler(serial).schedule().connect(
        plain_receiver<std::remove_const_t<decltype(serial)>>{serial, &two});
    loop.stop();
    operation.start();
    in_strand.start();
    CHECK(loop.run() == 0);
    CHECK(one.how == ending::none);
    CHECK(two.how == ending::none);
    loop.restart();
    CHECK(loop.run() == 2);
    CHECK(one.how == ending::value);
    CHECK(one.was_inside);
    CHECK(two.how == ending::value);
    CHECK(two.was_inside);
}

#if !defined(EKIDEN_TSAN)
struct setting_receiver {
    using receiver_concept = ex::receiver_tag;
    void set_value() && noexcept { *done = true; }
    void set_error(const std::exception_ptr&) && noexcept {}
    std::atomic<bool>* done;
};

TEST_CASE_TEMPLATE("an operation allocates nothing", Place, ekiden_test::on_pool, ekiden_test::on_strand,
                   ekiden_test::on_lane_handle, ekiden_test::on_loop, ekiden_test::on_loop_strand) {
    Place place;
    const auto e = place.executor();
    const auto scheduler = ekiden::as_scheduler(e);
    e.on_work_started(); // so a loop does not stop between two operations
    long before = 0;
    for (int round = 0; round != 200; ++round) {
        if (round == 100) before = ekiden_test::allocation_count(); // the first rounds are the warm-up
        std::atomic<bool> done{false};
        auto operation = scheduler.schedule().connect(setting_receiver{&done});
        operation.start();
        place.run_until(done);
    }
    CHECK(ekiden_test::allocation_count() == before);
    e.on_work_finished();
    place.finish();
}
#endif

namespace {

struct chain;
void go_on(chain& all);

struct restarting {
    using receiver_concept = ex::receiver_tag;
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

// Uses the templates of the library with types and callables of a program. own_names.py puts deleted
// functions with the names of the library's functions into the namespace of the program. They must not be
// found. No test runs this code.
#include <ekiden/ekiden.hpp>

#include <chrono>
#include <compare>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <stop_token>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace program {

// ---- the types of the program. The names begin with an article, because no function of the library has such
// a name.

struct an_item {
    int n = 0;
    friend bool operator==(const an_item&, const an_item&) = default;
    friend auto operator<=>(const an_item&, const an_item&) = default;
    an_item& operator+=(const an_item& other) {
        n += other.n;
        return *this;
    }
};
struct a_hash {
    std::size_t operator()(const an_item& item) const noexcept { return static_cast<std::size_t>(item.n); }
};
struct an_error {};

class a_context : public ekiden::execution_context {
public:
    struct executor_type {
        a_context& context() const noexcept { return *where; }
        void on_work_started() const noexcept {}
        void on_work_finished() const noexcept {}
        template <class F, class Allocator>
        void post(F&& f, const Allocator&) const {
            (*std::make_unique<std::decay_t<F>>(std::forward<F>(f)))();
        }
        template <class F, class Allocator>
        void defer(F&& f, const Allocator& allocator) const {
            this->post(std::forward<F>(f), allocator);
        }
        template <class F, class Allocator>
        void dispatch(F&& f, const Allocator& allocator) const {
            this->post(std::forward<F>(f), allocator);
        }
        friend bool operator==(const executor_type&, const executor_type&) = default;
        a_context* where;
    };
    ~a_context() override { shut_down_services(); }
    executor_type get_executor() noexcept { return {this}; }
};

template <class T>
struct an_allocator : std::allocator<T> {
    an_allocator() = default;
    template <class U>
    an_allocator(const an_allocator<U>&) noexcept {} // NOLINT: converts
    template <class U>
    struct rebind {
        using other = an_allocator<U>;
    };
};

struct a_clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<a_clock>;
    static constexpr bool is_steady = true;
    static time_point now() noexcept { return {}; }
};

struct an_awaiter {
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    an_item await_resume() const noexcept { return {}; }
};
struct an_awaitable {
    an_awaiter operator co_await() const noexcept { return {}; }
};
struct a_token {};

enum class a_state { shut, ajar };
enum class an_operation { look, step };

using a_coroutine = ekiden::coroutine<an_item>;

} // namespace program

template <class... Args>
class ekiden::async_result<program::a_token, void(Args...)> {
public:
    template <class Initiation, class... InitiationArgs>
    static void initiate(Initiation&& initiation, program::a_token, InitiationArgs&&... args) {
        std::forward<Initiation>(initiation)([](Args...) {}, std::forward<InitiationArgs>(args)...);
    }
};

namespace program {

// ---- executors and functions

template <class Context>
void an_execution(Context& context) {
    const auto where = context.get_executor();
    const auto call = [] {};
    const auto make = [] { return an_item(); };
    ekiden::post(context, call);
    ekiden::post(where, call);
    ekiden::dispatch(where, call);
    ekiden::defer(where, call);
    ekiden::post(where, a_token());
    ekiden::post(where, ekiden::bind_executor(where, call));
    ekiden::post(where, ekiden::bind_allocator(an_allocator<void>(), call));
    ekiden::post(where, ekiden::bind_executor(where, ekiden::bind_allocator(an_allocator<void>(), call)));
    (void)ekiden::post(where, ekiden::use_future(make)).get();
    ekiden::post(where, ekiden::deferred)(ekiden::use_future).get();
    const ekiden::any_executor any(where);
    ekiden::post(any, call);
    const ekiden::strand<typename Context::executor_type> turns(where);
    ekiden::post(turns, call);
    ekiden::dispatch(turns, call);
    turns.defer(call);
    (void)turns.submit(make).get();
    turns.post_bulk(3, [](std::size_t) {});
    const auto guard = ekiden::make_work_guard(context);
    ekiden::post(guard.get_executor(), call);
    ekiden::steady_timer timer(where, 1ms);
    timer.async_wait([](std::error_code) {});
    timer.async_wait(ekiden::bind_allocator(an_allocator<void>(), [](std::error_code) {}));
    timer.async_wait(a_token());
    timer.async_wait(ekiden::use_future).get();
    ekiden::basic_waitable_timer<a_clock> own(where, a_clock::now());
    own.async_wait([](std::error_code) {});
    own.expires_after(1ms);
    own.wait();
}

void a_pool(ekiden::thread_pool& pool) {
    const auto make = [](const an_item& from) { return from; };
    pool.post([] {});
    pool.post_last([] {});
    pool.post(ekiden::priority::high, [] {});
    pool.post_bulk(3, [](std::size_t) {});
    (void)pool.submit(make, an_item()).get();
    (void)pool.submit(std::stop_token(), [] { return an_item(); }).get();
    pool.get_executor().dispatch([] {});
}

// ---- futures

void some_futures(ekiden::thread_pool& pool, a_context& context) {
    ekiden::promise<an_item> promise;
    auto first = promise.get_future();
    promise.set_value(an_item());
    auto second = first.then(pool.get_executor(), [](an_item item) { return item; });
    auto third = second.then(context.get_executor(), [](an_item) {});
    auto fourth =
        ekiden::make_ready_future(an_item()).then(ekiden::inline_executor(), [](an_item i) { return i; });
    auto shared = fourth.share();
    (void)shared.get();
    (void)shared.wait_for(1ms);
    (void)shared.wait_until(a_clock::now());
    (void)ekiden::when_all(ekiden::make_ready_future(an_item()), std::move(third)).get();
    (void)ekiden::when_any(ekiden::make_ready_future(an_item()), ekiden::make_ready_future(an_item())).get();
    std::vector<ekiden::future<an_item>> many(2);
    (void)ekiden::when_all(many.begin(), many.end()).get();
    (void)ekiden::when_any(many.begin(), many.end()).get();
}

// ---- coroutines

a_coroutine an_answer() { co_return co_await an_awaitable(); }

ekiden::coroutine<> some_groups(ekiden::thread_pool& pool) {
    (void)co_await an_answer();
    (void)co_await ekiden::when_all(an_answer(), an_answer);
    (void)co_await ekiden::when_any(an_answer(), an_answer);
    std::vector<a_coroutine> many;
    (void)co_await ekiden::when_all(std::move(many));
    std::vector<a_coroutine> others;
    (void)co_await ekiden::when_any(std::move(others));
    (void)co_await ekiden::with_timeout(1s, an_answer);
    (void)co_await ekiden::with_deadline(a_clock::now(), [] { return an_answer(); });
    co_await ekiden::sleep_for(1ms);
    co_await ekiden::sleep_until(a_clock::now());
    co_await ekiden::resume_on(pool.get_executor());
    co_await ekiden::yield();
    (void)co_await pool.submit([] { return an_item(); });
    ekiden::steady_timer timer(pool, 1ms);
    co_await timer.async_wait(ekiden::use_awaitable);
    ekiden::async_scope scope(co_await ekiden::get_environment());
    (void)scope.spawn(an_answer());
    (void)scope.spawn([]() -> a_coroutine { co_return an_item(); });
    co_await scope.wait();
}

template <class Queue>
ekiden::coroutine<> a_queue(Queue& queue, Queue& other, std::stop_token token) {
    const an_item item;
    const auto limit = ekiden::wait_limit::after(1ms);
    (void)queue.push(item);
    (void)queue.push(an_item(), token);
    (void)queue.push_for(an_item(), 1ms);
    (void)queue.push_until(an_item(), a_clock::now());
    (void)queue.try_push(an_item());
    (void)queue.pop();
    (void)queue.pop_for(1ms);
    (void)queue.pop_until(a_clock::now());
    (void)queue.try_pop();
    (void)co_await ekiden::async_push(queue, item);
    (void)co_await ekiden::async_push(queue, an_item());
    (void)co_await ekiden::async_push(queue, an_item(), limit);
    (void)co_await ekiden::async_push_for(queue, an_item(), 1ms);
    (void)co_await ekiden::async_push_until(queue, item, a_clock::now());
    (void)co_await ekiden::async_pop(queue);
    (void)co_await ekiden::async_pop(queue, limit);
    (void)co_await ekiden::async_pop_for(queue, 1ms);
    (void)co_await ekiden::async_pop_until(queue, a_clock::now());
    const auto unclaimed = [](an_item&&) {};
    (void)co_await ekiden::async_pop(queue, unclaimed);
    (void)co_await ekiden::select(queue, other);
    ekiden::select_priority order(9);
    (void)co_await ekiden::select(order, queue, other);
}

ekiden::coroutine<> a_channel(ekiden::channel<an_item>& channel, std::vector<an_item>& items) {
    (void)channel.push_range(items, ekiden::wait_limit::after(1ms));
    (void)co_await ekiden::async_push_range(channel, std::span(items));
    (void)co_await ekiden::async_pop_up_to(channel, items, 3);
}

struct a_completion {
    void operator()() const noexcept {}
};

template <class Mutex>
ekiden::coroutine<> a_lock(Mutex& mutex) {
    (void)co_await ekiden::async_lock(mutex);
    (void)co_await ekiden::async_try_lock_for(mutex, 1ms);
    (void)co_await ekiden::async_try_lock_until(mutex, a_clock::now());
}

ekiden::coroutine<> some_locks() {
    ekiden::mutex mutex;
    co_await program::a_lock(mutex);
    ekiden::rw_mutex<> readers;
    co_await program::a_lock(readers);
    (void)co_await ekiden::async_lock_shared(readers);
    (void)co_await ekiden::async_try_lock_shared_for(readers, 1ms);
    ekiden::barrier<a_completion> barrier(2, a_completion());
    barrier.arrive_and_wait();
    (void)co_await ekiden::async_wait(barrier, barrier.arrive());
    (void)co_await ekiden::async_wait_for(barrier, barrier.arrive(), 1ms);
    (void)co_await ekiden::async_arrive_and_wait(barrier);
    (void)co_await ekiden::async_arrive_and_wait_for(barrier, 1ms);
    (void)co_await ekiden::async_arrive_and_wait_until(barrier, a_clock::now());
    ekiden::event event;
    (void)co_await ekiden::async_wait_until(event, a_clock::now());
    ekiden::counting_semaphore<> permits(1);
    (void)co_await ekiden::async_acquire(permits);
    (void)co_await ekiden::async_try_acquire_for(permits, 1ms);
    (void)co_await ekiden::async_try_acquire_until(permits, a_clock::now());
    static constexpr auto table = ekiden::make_state_table<a_state, an_operation>(
        a_state::shut, {{an_operation::look, a_state::ajar, a_state::shut},
                        {an_operation::step, a_state::shut, a_state::ajar}});
    ekiden::state_mutex<table> states;
    states.template enter<an_operation::look>().leave(a_state::shut);
    (void)co_await ekiden::async_enter<an_operation::step>(states);
    (void)co_await ekiden::async_enter_for<an_operation::step>(states, 1ms);
    (void)co_await ekiden::async_enter_until<an_operation::step>(states, a_clock::now());
    (void)ekiden::state_diagram(table);
    ekiden::sequencer<an_item, an_item> desk;
    desk.serve([](std::uint64_t, an_item item) { return item; });
    (void)desk.call(an_item());
}

template <class Context>
void some_coroutines(Context& context) {
    const auto where = context.get_executor();
    const auto make = [] { return an_answer(); };
    (void)ekiden::sync_wait(an_answer());
    (void)ekiden::sync_wait(make);
    (void)ekiden::sync_wait(where, an_answer());
    (void)ekiden::sync_wait(where, make);
    ekiden::co_spawn(where, make, ekiden::detached);
    (void)ekiden::co_spawn(where, an_answer(), ekiden::use_future).get();
    ekiden::co_spawn(where, make, [](std::exception_ptr, an_item) {});
    ekiden::co_spawn(where, make,
                     ekiden::bind_allocator(an_allocator<void>(), [](std::exception_ptr, an_item) {}));
    ekiden::co_spawn(where, make, a_token());
    (void)ekiden::co_spawn(where, make, ekiden::deferred);
}

// ---- lanes

template <class Lanes>
ekiden::coroutine<> some_turns(Lanes& lanes) {
    (void)co_await ekiden::async_turn(lanes, an_item());
    (void)co_await ekiden::async_turn(lanes, lanes.keys().write(an_item()));
    (void)co_await ekiden::async_turn(lanes, an_item(), ekiden::wait_limit::after(1ms));
    (void)co_await ekiden::async_turn_for(lanes, an_item(), 1ms);
    (void)co_await ekiden::async_turn_for(lanes, lanes.keys().write(an_item()), 1ms);
    (void)co_await ekiden::async_turn_until(lanes, an_item(), a_clock::now());
    (void)co_await ekiden::async_turn_until(lanes, lanes.keys().write(an_item()), a_clock::now());
    const auto make = [] { return an_answer(); };
    ekiden::spawn_in_turn(lanes, an_item(), make);
    ekiden::spawn_in_turn(lanes, {an_item(), an_item()}, make);
    (void)ekiden::spawn_in_turn(lanes, an_item(), make, ekiden::use_future);
}

template <class Context>
void some_lanes(Context& context) {
    using key_lanes = ekiden::lanes<an_item, typename Context::executor_type, a_hash>;
    const key_lanes lanes(context.get_executor());
    const an_item key;
    const auto call = [] {};
    (void)lanes.post(key, call);
    (void)lanes.defer(key, call);
    (void)lanes.dispatch(key, call);
    (void)lanes.post({key, key}, call);
    (void)lanes.post(lanes.keys().write(key).read(key), call);
    const auto handle = lanes.lane(key);
    (void)lanes.post(handle, call);
    ekiden::post(handle.get_executor(), call);
    ekiden::dispatch(handle.get_executor(), call);
    lanes.wait_idle(key);
    (void)lanes.running_in_this_thread(key);
    ekiden::sync_wait(program::some_turns(lanes));
}

// ---- parallel algorithms and graphs

void some_algorithms(ekiden::thread_pool& pool, std::vector<an_item>& items) {
    const auto visit = [](const an_item&) {};
    const auto is_odd = [](const an_item& item) { return item.n % 2 == 1; };
    const auto less = [](const an_item& a, const an_item& b) { return a.n < b.n; };
    const auto plus = [](const an_item& a, const an_item& b) { return an_item{a.n + b.n}; };
    const auto same = [](const an_item& item) { return item; };
    const auto image = [](int n) { return an_item{n}; };
    const ekiden::loop_options some{.concurrency = 2};
    ekiden::parallel_for(0, 10, [](int) {});
    ekiden::parallel_for(pool, 0, 10, [](int) {});
    ekiden::parallel_for(pool, 0, 10, [](int) {}, some);
    ekiden::parallel_for_each(items, visit);
    ekiden::parallel_for_each(pool, items.begin(), items.end(), visit, some);
    ekiden::parallel_transform(pool, items, items.begin(), same);
    (void)ekiden::parallel_reduce(pool, items, an_item(), same, plus);
    (void)ekiden::parallel_reduce(pool, 0, 10, an_item(), image, plus, {.deterministic = true});
    (void)ekiden::parallel_reduce(0, 10, an_item(), image, plus);
    ekiden::parallel_inclusive_scan(pool, items, items.begin(), plus);
    ekiden::parallel_exclusive_scan(pool, items, items.begin(), an_item(), plus);
    ekiden::parallel_sort(items);
    ekiden::parallel_sort(pool, items, less);
    ekiden::parallel_sort(pool, items.begin(), items.end(), less, some);
    ekiden::parallel_stable_sort(items);
    ekiden::parallel_stable_sort(pool, items.begin(), items.end(), less, some);
    std::vector<int> numbers(10);
    ekiden::parallel_stable_sort(pool, numbers, [](int a, int b) { return a > b; });
    (void)ekiden::parallel_find(pool, items, an_item());
    (void)ekiden::parallel_find_if(pool, items, is_odd);
    (void)ekiden::parallel_any_of(pool, items, is_odd);
    (void)ekiden::parallel_all_of(items, is_odd);
    (void)ekiden::parallel_none_of(items, is_odd);
    const auto fork = [](ekiden::fork_scope& scope) {
        ekiden::parallel_for(scope, 0, 10, [](int) {});
        return ekiden::parallel_invoke(scope, [] { return an_item(); }, [](ekiden::fork_scope&) {});
    };
    (void)ekiden::parallel_invoke(fork, fork);
    (void)ekiden::parallel_invoke(pool, fork, fork, [] { return an_item(); });
    ekiden::combinable<an_item> sums;
    sums.local() += an_item();
    (void)sums.combine(plus);
    sums.combine_each([](an_item&) {});
    ekiden::task_group group(pool);
    group.spawn([] {});
    group.wait();
}

void some_graphs(ekiden::thread_pool& pool) {
    ekiden::pipeline stages(ekiden::in_order_stage([] { return std::optional<an_item>(); }),
                            ekiden::parallel_stage([](an_item item) { return item; }),
                            ekiden::parallel_stage([](an_item item) -> a_coroutine { co_return item; }),
                            ekiden::any_order_stage([](an_item) {}));
    (void)stages.run(pool, {.in_flight = 8});
    ekiden::pipeline awaited(
        ekiden::in_order_stage([]() -> ekiden::coroutine<std::optional<an_item>> { co_return std::nullopt; }),
        ekiden::in_order_stage([](an_item) -> ekiden::coroutine<> { co_return; }));
    (void)awaited.run(pool);
    ekiden::task_graph graph;
    auto first = graph.add("first", [] {});
    auto second = graph.add("second", []() -> ekiden::coroutine<> { co_return; });
    auto third = graph.add("third", [] { return 0; });
    first.precede(second, third);
    (void)graph.run(pool);
}

// ---- all of them

void everything(ekiden::thread_pool& pool, ekiden::loop_context& loop, a_context& own,
                ekiden::sim::link& wire) {
    program::an_execution(pool);
    program::an_execution(loop);
    program::an_execution(own);
    program::some_coroutines(pool);
    program::some_coroutines(own);
    program::some_lanes(pool);
    program::some_lanes(own);
    (void)wire.send([] {});
    (void)wire.send_back([] {});
    ekiden::channel<an_item> channel;
    ekiden::bounded_buffer<an_item> buffer(4);
    ekiden::watermark_buffer<an_item> marked(2, 8);
    ekiden::sync_wait(program::a_queue(channel, channel, {}));
    ekiden::sync_wait(program::a_queue(buffer, buffer, {}));
    ekiden::sync_wait(program::a_queue(marked, marked, {}));
}

} // namespace program

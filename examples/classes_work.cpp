/// A short example for each class with which programs run work: pools, loops, lanes, executors, futures,
/// timers and groups. The reference shows them.
#include <ekiden/execution.hpp>
#include <ekiden/flow.hpp>
#include <ekiden/fork.hpp>
#include <ekiden/future.hpp>
#include <ekiden/lanes.hpp>
#include <ekiden/loop.hpp>
#include <ekiden/pool.hpp>
#include <ekiden/timer.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace {

bool thread_pool_example() {
    ekiden::thread_pool pool({.threads = 4});
    pool.post([] { std::puts("in a worker"); });
    ekiden::future<int> answer = pool.submit([](int a, int b) { return a * b; }, 6, 7);
    const int result = answer.get(); // waits, and throws what the task has thrown
    pool.wait_idle();
    return result == 42;
}

bool blocking_region_example() {
    ekiden::thread_pool pool({.threads = 1, .max_threads = 2});
    auto slow = pool.submit([] {
        const ekiden::blocking_region region("a slow file"); // another thread runs tasks meanwhile
        std::this_thread::sleep_for(1ms);
        return true;
    });
    return slow.get();
}

bool stall_report_example() {
    const auto show = [](const ekiden::stall_report& report) {
        std::fprintf(stderr, "%s\n", report.text().c_str());
    };
    ekiden::thread_pool pool({.threads = 2, .on_stall = show});
    return pool.metrics().stalls == 0;
}

bool slow_task_report_example() {
    const auto show = [](const ekiden::slow_task_report& report) {
        std::fprintf(stderr, "%s", report.text().c_str());
    };
    ekiden::thread_pool pool({.slow_task_time = 500ms, .on_slow_task = show});
    return pool.metrics().slow_tasks == 0;
}

bool slow_task_history_example() {
    ekiden::slow_task_history history;
    const auto keep = [&history](const ekiden::slow_task_report& report) { history.add(report); };
    ekiden::thread_pool pool({.slow_task_time = 500ms, .on_slow_task = keep});
    ekiden::prometheus_page page;
    add_metrics(page, pool.metrics(), "work");
    add_metrics(page, history, "work"); // the newest slow tasks
    return history.newest().empty();
}

bool histogram_snapshot_example() {
    ekiden::thread_pool pool;
    pool.submit([] {}).get();
    const ekiden::histogram_snapshot delays = pool.metrics().queue_delay;
    std::printf("99%% of the tasks have waited for at most %llu ns\n",
                static_cast<unsigned long long>(delays.quantile(0.99)));
    return true;
}

bool context_id_example() {
    ekiden::thread_pool pool;
    ekiden::loop_context loop(1);
    const ekiden::context_id id = pool.id();
    return id == pool.id() && id != loop.id();
}

bool lanes_example() {
    ekiden::thread_pool pool;
    const ekiden::lanes<std::string> accounts(pool.get_executor());
    int ada = 0; // no lock: the functions of a key run one at a time
    for (int i = 0; i != 10; ++i) (void)accounts.post("ada", [&ada] { ++ada; });
    accounts.wait_idle("ada");
    return ada == 10;
}

bool loop_context_example() {
    ekiden::loop_context loop(1); // one thread runs it, any thread may post
    std::string text;
    ekiden::post(loop, [&] { text += "first "; });
    ekiden::post(loop, [&] { text += "second"; });
    const std::size_t ran = loop.run(); // returns when no work is left
    return ran == 2 && text == "first second";
}

bool loop_pool_example() {
    ekiden::loop_pool pool({.threads = 2});
    int deposits = 0; // no lock: all functions for the key 7 run on one thread
    for (int i = 0; i != 10; ++i) pool.get_executor_for(7).post([&] { ++deposits; });
    pool.join();
    return deposits == 10;
}

bool strand_example() {
    ekiden::thread_pool pool;
    const ekiden::strand in_order(pool.get_executor());
    std::string text; // no lock: the functions of a strand run one at a time, in order
    for (const char c : {'a', 'b', 'c'}) ekiden::post(in_order, [&text, c] { text += c; });
    pool.wait_idle();
    return text == "abc";
}

bool any_executor_example() {
    ekiden::thread_pool pool;
    ekiden::loop_context loop(1);
    std::vector<ekiden::any_executor> places{pool.get_executor(), loop.get_executor()};
    for (const auto& place : places) ekiden::post(place, [] { std::puts("somewhere"); });
    pool.wait_idle();
    return loop.run() == 1;
}

bool system_executor_example() {
    const ekiden::system_executor everywhere; // a pool that the process shares
    auto answer = ekiden::post(everywhere, ekiden::use_future([] { return 42; }));
    return answer.get() == 42;
}

bool inline_executor_example() {
    auto length = ekiden::make_ready_future(std::string("four")).then(ekiden::inline_executor(), [](auto s) {
        return s.size(); // runs where the result becomes ready
    });
    return length.get() == 4;
}

bool executor_binder_example() {
    ekiden::thread_pool pool;
    ekiden::loop_context loop(1);
    std::string text;
    ekiden::steady_timer timer(pool, 1ms);
    timer.async_wait(ekiden::bind_executor(loop, [&](std::error_code) { text = "in the loop"; }));
    loop.run();
    return text == "in the loop";
}

bool allocator_binder_example() {
    ekiden::loop_context loop(1);
    const std::allocator<void> memory; // holds the function until it is called
    bool called = false;
    ekiden::post(loop, ekiden::bind_allocator(memory, [&] { called = true; }));
    loop.run();
    return called;
}

bool associated_executor_example() {
    struct greeting {
        using executor_type = ekiden::loop_context::executor_type;
        executor_type get_executor() const noexcept { return where; }
        void operator()() const { std::puts("hello from the loop"); }
        executor_type where;
    };
    ekiden::thread_pool pool;
    ekiden::loop_context loop(1);
    ekiden::post(pool, greeting{loop.get_executor()}); // goes to the loop
    pool.wait_idle();
    return loop.run() == 1;
}

bool associated_allocator_example() {
    struct greeting {
        using allocator_type = std::allocator<void>;
        allocator_type get_allocator() const noexcept { return {}; } // memory for the queued function
        void operator()() const { std::puts("hello"); }
    };
    ekiden::loop_context loop(1);
    ekiden::post(loop, greeting());
    return loop.run() == 1;
}

bool task_sink_example() {
    ekiden::thread_pool pool;
    const auto executor = pool.get_executor(ekiden::priority::high);
    executor.post([] { std::puts("in a worker"); });
    executor.dispatch([] { std::puts("at once, if this is a worker"); });
    ekiden::future<int> answer = executor.submit([] { return 42; });
    return answer.get() == 42;
}

class request_counter : public ekiden::execution_context::service {
public:
    explicit request_counter(ekiden::execution_context& owner) : service(owner) {}
    std::atomic<int> requests{0};
};

bool execution_context_example() {
    ekiden::thread_pool pool;
    for (int i = 0; i != 3; ++i) // the pool has one service of each type
        pool.post([&pool] { ++use_service<request_counter>(pool).requests; });
    pool.wait_idle();
    return use_service<request_counter>(pool).requests == 3;
}

bool executor_work_guard_example() {
    ekiden::thread_pool pool(1);
    ekiden::loop_context loop(1);
    int answer = 0;
    pool.post([&answer, guard = ekiden::make_work_guard(loop)] { // run() waits for the guard's end
        ekiden::post(guard.get_executor(), [&answer] { answer = 42; });
    });
    loop.run();
    return answer == 42;
}

bool deferred_example() {
    ekiden::thread_pool pool;
    ekiden::steady_timer timer(pool, 1ms);
    auto operation = timer.async_wait(ekiden::deferred); // not started yet
    auto done = std::move(operation)(ekiden::use_future);
    done.get();
    return true;
}

bool use_future_example() {
    ekiden::thread_pool pool;
    ekiden::steady_timer timer(pool, 1ms);
    ekiden::future<void> expired = timer.async_wait(ekiden::use_future);
    expired.get(); // throws std::system_error if the wait was canceled
    return true;
}

bool future_example() {
    ekiden::thread_pool pool;
    ekiden::future<int> price = pool.submit([] { return 20; });
    ekiden::future<int> total = price.then(pool.get_executor(), [](int p) { return 2 * p; });
    if (!total.wait_for(1min)) return false;
    return total.get() == 40;
}

bool promise_example() {
    ekiden::promise<std::string> promise;
    ekiden::future<std::string> name = promise.get_future();
    std::jthread producer([&] { promise.set_value("ada"); });
    return name.get() == "ada";
}

bool shared_future_example() {
    ekiden::thread_pool pool;
    const ekiden::shared_future<int> base = pool.submit([] { return 20; }).share();
    auto twice = pool.submit([base] { return 2 * base.get(); });
    auto thrice = pool.submit([base] { return 3 * base.get(); });
    return twice.get() + thrice.get() == 100;
}

bool blocking_t_example() {
    ekiden::thread_pool pool({.threads = 2});
    auto outer = pool.submit([&] {
        auto inner = pool.submit([] { return 1; });
        return inner.get(ekiden::blocking); // runs no other task while it waits
    });
    return outer.get() == 1;
}

bool task_group_example() {
    ekiden::thread_pool pool;
    long halves[2] = {};
    ekiden::task_group group(pool);
    for (int half = 0; half < 2; ++half) group.spawn([&halves, half] { halves[half] = half + 1; });
    group.wait(); // throws what a task has thrown
    return halves[0] + halves[1] == 3;
}

bool combinable_example() {
    ekiden::thread_pool pool;
    ekiden::combinable<std::vector<int>> lists; // one list for each thread
    ekiden::parallel_for(pool, 0, 1'000, [&lists](int i) {
        if (i % 7 == 0) lists.local().push_back(i);
    });
    std::size_t found = 0;
    lists.combine_each([&found](std::vector<int>& list) { found += list.size(); });
    return found == 143;
}

long fibonacci(ekiden::fork_scope& scope, int n) {
    if (n < 2) return n;
    const auto [a, b] = ekiden::parallel_invoke(
        scope, [n](ekiden::fork_scope& inner) { return fibonacci(inner, n - 1); },
        [n](ekiden::fork_scope& inner) { return fibonacci(inner, n - 2); });
    return a + b;
}

bool fork_scope_example() {
    const auto [result] =
        ekiden::parallel_invoke([](ekiden::fork_scope& scope) { return fibonacci(scope, 20); });
    return result == 6765;
}

bool basic_waitable_timer_example() {
    ekiden::thread_pool pool;
    ekiden::steady_timer timer(pool, 1ms);
    timer.async_wait([](std::error_code error) {
        if (!error) std::puts("expired"); // otherwise it was canceled
    });
    pool.wait_idle();
    pool.join();
    return true;
}

bool pipeline_example() {
    int next = 0;
    long sum = 0;
    ekiden::pipeline squares(
        ekiden::in_order_stage([&] { return next < 100 ? std::optional(next++) : std::nullopt; }),
        ekiden::parallel_stage([](int item) { return static_cast<long>(item) * item; }),
        ekiden::any_order_stage([&](long square) { sum += square; }));
    const bool is_whole = squares.run({.in_flight = 8});
    return is_whole && sum == 328'350;
}

bool task_graph_example() {
    ekiden::task_graph graph;
    auto load = graph.add("load", [] { std::puts("load"); });
    auto check = graph.add("check", [] { std::puts("check"); });
    auto print = graph.add("print", [] { std::puts("print"); });
    load.precede(check, print);
    const bool is_whole = graph.run() && graph.run(); // twice
    return is_whole;
}

} // namespace

int main() {
    const bool examples[] = {thread_pool_example(),
                             blocking_region_example(),
                             stall_report_example(),
                             lanes_example(),
                             loop_context_example(),
                             loop_pool_example(),
                             strand_example(),
                             any_executor_example(),
                             system_executor_example(),
                             inline_executor_example(),
                             executor_binder_example(),
                             allocator_binder_example(),
                             deferred_example(),
                             executor_work_guard_example(),
                             use_future_example(),
                             future_example(),
                             promise_example(),
                             shared_future_example(),
                             blocking_t_example(),
                             task_group_example(),
                             combinable_example(),
                             fork_scope_example(),
                             basic_waitable_timer_example(),
                             associated_executor_example(),
                             associated_allocator_example(),
                             task_sink_example(),
                             histogram_snapshot_example(),
                             slow_task_report_example(),
                             slow_task_history_example(),
                             context_id_example(),
                             execution_context_example(),
                             pipeline_example(),
                             task_graph_example()};
    int failed = 0;
    for (const bool worked : examples) failed += worked ? 0 : 1;
    std::printf("%d examples failed\n", failed);
    return failed;
}

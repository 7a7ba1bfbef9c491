// A program that a debugger stops in stop_here(), when everything is as stopped.expected says.
#include <ekiden/ekiden.hpp>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include <unistd.h>

using namespace ekiden;

namespace {

enum class door_state { open, closed };
enum class door_op { open, close };
constexpr auto door_table = make_state_table<door_state, door_op>(
    door_state::open, {{door_op::open, door_state::closed, door_state::open},
                       {door_op::close, door_state::open, door_state::closed}});

struct everything {
    mutex free;
    mutex busy;
    fifo_mutex in_order;
    hybrid_mutex hybrid;
    spin_mutex spinning;
    rw_mutex<> shared;
    state_mutex<door_table> door;
    counting_semaphore<> permits{3};
    event start;
    latch done{2};
    barrier<> meeting{4};
    bounded_buffer<int> items{8};
    promise<int> answer;
    future<int> with_value, with_error, queued, running, abandoned, of_promise, none;
    future<void> nothing;
};

[[gnu::noinline]] void stop_here(everything& all, thread_pool& pool, thread_pool& paused,
                                 coroutine<int>& fresh) {
    asm volatile("" ::"r"(&all), "r"(&pool), "r"(&paused), "r"(&fresh) : "memory");
}

// Whether the pool's own report has these words: it has what the debugger is to find.
bool says(const thread_pool& pool, const char* words) {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    pool.dump(ends[1]);
    char report[4096];
    const ssize_t length = ::read(ends[0], report, sizeof report);
    ::close(ends[0]);
    ::close(ends[1]);
    return std::string_view(report, static_cast<std::size_t>(length)).find(words) != std::string_view::npos;
}

struct wants_busy {
    everything& all;
    void operator()() const { const std::lock_guard guard(all.busy); }
};
struct wants_to_write {
    everything& all;
    void operator()() const { const std::lock_guard guard(all.shared); }
};
struct wants_answer {
    shared_future<int> answer;
    void operator()() const { answer.wait(); }
};

coroutine<int> inner(everything& all) {
    co_await async_wait(all.start);
    co_return 1;
}
coroutine<> outer(everything& all) {
    const int one = co_await inner(all);
    all.permits.release(one);
}

void hold_readers(everything& all) {
    all.shared.lock_shared();
    all.shared.lock_shared();
}

} // namespace

int main() {
    everything all;
    std::atomic<bool> goes_on{false};
    std::atomic<int> begun{0};
    thread_pool paused({.threads = 1, .name = "paused"});
    thread_pool pool({.threads = 5, .name = "team"});

    all.busy.lock();
    all.in_order.lock();
    all.spinning.lock();
    hold_readers(all);
    all.door.enter<door_op::close>().leave<door_state::closed>();
    (void)all.meeting.arrive();
    all.done.count_down();
    (void)all.items.push(1);
    (void)all.items.push(2);

    all.with_value = paused.submit([] { return 42; });
    all.nothing = paused.submit([] {});
    all.with_error = paused.submit([]() -> int { throw std::runtime_error("no"); });
    paused.wait_idle();
    paused.pause();
    all.queued = paused.submit([] { return 1; });
    all.abandoned = promise<int>().get_future();
    all.of_promise = all.answer.get_future();
    coroutine<int> fresh = inner(all);

    shared_future<int> answer = std::exchange(all.of_promise, future<int>()).share();
    co_spawn(pool.get_executor(), outer(all), detached);
    pool.wait_idle();
    all.running = pool.submit([&] {
        ++begun;
        while (!goes_on) std::this_thread::yield();
        return 1;
    });
    pool.post(wants_busy{all});
    pool.post(wants_busy{all});
    pool.post(wants_to_write{all});
    while (begun != 1 || pool.metrics().threads_blocked != 3) std::this_thread::yield();
    pool.post(wants_answer{answer}); // when the others are taken: a worker that waits would take them, too
    while (!says(pool, "waits for")) std::this_thread::yield();
    stop_here(all, pool, paused, fresh);

    goes_on = true;
    all.start.set();
    all.answer.set_value(1);
    all.busy.unlock();
    all.in_order.unlock();
    all.spinning.unlock();
    all.shared.unlock_shared();
    all.shared.unlock_shared();
    paused.resume();
}

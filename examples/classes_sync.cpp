/// A short example for each class of <ekiden/sync.hpp>. The reference shows them.
#include <ekiden/sync.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

bool mutex_example() {
    ekiden::mutex mutex;
    int balance = 0;
    const auto deposit = [&] {
        const std::lock_guard lock(mutex);
        balance += 10;
    };
    std::jthread(deposit).join();
    deposit();
    return balance == 20;
}

bool fifo_mutex_example() {
    ekiden::fifo_mutex mutex; // threads lock it in the order of their calls
    std::unique_lock lock(mutex, std::defer_lock);
    const bool locked = lock.try_lock_for(10ms);
    return locked;
}

bool hybrid_mutex_example() {
    ekiden::hybrid_mutex mutex; // a waiting thread spins for a while before it sleeps
    long counter = 0;
    const std::lock_guard lock(mutex);
    ++counter;
    return counter == 1;
}

bool spin_mutex_example() {
    ekiden::spin_mutex mutex; // for sections of a few instructions
    int next_id = 1;
    const auto new_id = [&] {
        const std::lock_guard lock(mutex);
        return next_id++;
    };
    return new_id() == 1 && new_id() == 2;
}

bool rw_mutex_example() {
    ekiden::rw_mutex<ekiden::rw_policy::fifo> mutex;
    std::map<int, std::string> names;
    {
        const std::unique_lock writing(mutex); // alone
        names[7] = "seven";
    }
    const std::shared_lock reading(mutex); // with other readers
    return names.at(7) == "seven";
}

bool state_mutex_example() {
    enum class door { shut, open };
    enum class op { enter, open };
    static constexpr auto table = ekiden::make_state_table<door, op>(
        door::shut, {{op::enter, door::open, door::shut}, {op::open, door::shut, door::open}});
    ekiden::state_mutex<table> mutex;
    std::jthread visitor([&] {
        mutex.enter<op::enter>().leave(door::shut); // waits until the door is open
    });
    mutex.enter<op::open>().leave(door::open);
    visitor.join();
    return true;
}

bool states_example() {
    enum class door { shut, open, broken };
    constexpr ekiden::states<door> usable{door::shut, door::open};
    static_assert(usable.contains(door::open) && !usable.contains(door::broken));
    return usable.contains(door::shut);
}

bool barrier_example() {
    int phase = 0;
    ekiden::barrier barrier(2, [&]() noexcept { ++phase; }); // called by the last thread of each round
    const auto work = [&] {
        barrier.arrive_and_wait(); // both threads have begun
        barrier.arrive_and_wait(); // both threads have ended
    };
    std::jthread other(work);
    work();
    return phase == 2;
}

bool elastic_barrier_example() {
    ekiden::elastic_barrier barrier(2);
    const auto take_part = [&] {
        barrier.enter(); // waits until all have left the previous round
        // work here while other threads arrive
        barrier.leave(); // waits until all have entered this round
    };
    std::jthread other(take_part);
    take_part();
    return true;
}

bool latch_example() {
    ekiden::latch started(2);
    std::vector<std::jthread> threads;
    for (int i = 0; i != 2; ++i) threads.emplace_back([&] { started.count_down(); });
    started.wait(); // both threads run
    return started.try_wait();
}

bool event_example() {
    ekiden::event ready;
    std::string text;
    std::jthread producer([&] {
        text = "hello";
        ready.set();
    });
    ready.wait(); // sees everything that the producer did before set()
    return text == "hello";
}

bool counting_semaphore_example() {
    ekiden::counting_semaphore<8> connections(8); // at most eight at once
    connections.acquire();
    const bool another = connections.try_acquire_for(1s);
    connections.release(another ? 2 : 1);
    return another;
}

bool bounded_buffer_example() {
    ekiden::bounded_buffer<int> numbers(16); // push() waits while 16 are inside
    std::jthread producer([&] {
        for (int i = 1; i <= 100; ++i) (void)numbers.push(i);
        numbers.close(); // consumers still get the numbers inside
    });
    int sum = 0;
    while (const auto number = numbers.pop()) sum += *number;
    return sum == 5050;
}

bool channel_example() {
    ekiden::channel<int> numbers; // channel<int>(16) holds at most 16, and channel<int>(0) is a rendezvous
    std::jthread producer([&] {
        for (int i = 1; i <= 100; ++i) (void)numbers.push(i);
        numbers.close(); // consumers still get the numbers inside
    });
    int sum = 0;
    while (const auto number = numbers.pop()) sum += *number;
    return sum == 5050;
}

bool pushed_range_example() {
    ekiden::channel<int> numbers(2);
    std::vector<int> items{1, 2, 3};
    const ekiden::pushed_range pushed = numbers.push_range(items, ekiden::wait_limit::after(1ms));
    const auto third = std::span(items).subspan(pushed.count); // for the next try
    return pushed.status == ekiden::queue_status::timed_out && third.front() == 3;
}

bool watermark_buffer_example() {
    // Once eight items are inside, push() waits until only two are left.
    ekiden::watermark_buffer<std::string> lines(2, 8);
    (void)lines.push("first");
    lines.close();
    const auto line = lines.pop();
    return line && *line == "first" && !lines.pop();
}

bool popped_example() {
    ekiden::bounded_buffer<int> numbers(4);
    const ekiden::popped<int> none = numbers.try_pop();
    if (none.status() != ekiden::queue_status::would_wait) return false;
    (void)numbers.push(5);
    const ekiden::popped<int> number = numbers.try_pop();
    return number && *number == 5;
}

bool sequencer_example() {
    ekiden::sequencer<int, int> desk;
    int total = 0; // belongs to the serving thread
    std::jthread server([&] { desk.serve([&](std::uint64_t, int amount) { return total += amount; }); });
    const auto reply = desk.call(5); // waits for the reply
    desk.close();
    return reply && reply->reply == 5;
}

bool wait_limit_example() {
    ekiden::event never;
    std::stop_source stop;
    const auto limit = ekiden::wait_limit::until(std::chrono::steady_clock::now() + 1ms);
    const bool in_time = never.wait(limit.with(stop.get_token())); // until the deadline, or a stop request
    return !in_time;
}

bool wait_duration_example() {
    ekiden::event never;
    const bool in_time = never.wait_for(1ms); // 1ms converts to a wait_duration
    return !in_time;
}

bool wait_deadline_example() {
    ekiden::event never;
    const auto soon = std::chrono::system_clock::now() + 1ms;
    const bool in_time = never.wait_until(soon); // the time point converts to a wait_deadline
    return !in_time;
}

} // namespace

int main() {
    const bool examples[] = {mutex_example(),           fifo_mutex_example(),
                             hybrid_mutex_example(),    spin_mutex_example(),
                             rw_mutex_example(),        state_mutex_example(),
                             states_example(),          barrier_example(),
                             elastic_barrier_example(), latch_example(),
                             event_example(),           counting_semaphore_example(),
                             bounded_buffer_example(),  channel_example(),
                             pushed_range_example(),    watermark_buffer_example(),
                             popped_example(),          sequencer_example(),
                             wait_limit_example(),      wait_duration_example(),
                             wait_deadline_example()};
    int failed = 0;
    for (const bool worked : examples) failed += worked ? 0 : 1;
    std::printf("%d examples failed\n", failed);
    return failed;
}

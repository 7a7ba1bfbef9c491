/// Requests from many threads, processed in order of arrival. Either the threads process them under a
/// fifo_mutex, or one thread serves a sequencer.
#include <ekiden/sync.hpp>

#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr int clients = 50;

long by_lock() {
    ekiden::fifo_mutex mutex; // acquired in the order of the calls of lock()
    long account = 0;
    std::vector<std::jthread> threads;
    for (int i = 1; i <= clients; ++i) {
        threads.emplace_back([&, i] {
            const std::lock_guard turn(mutex);
            account += i;
        });
    }
    threads.clear(); // joins
    return account;
}

long by_queue() {
    ekiden::sequencer<int, long> desk;
    long account = 0; // only the serving thread uses it
    std::jthread clerk(
        [&] { desk.serve([&](std::uint64_t /*number*/, int amount) { return account += amount; }); });
    {
        std::vector<std::jthread> threads;
        for (int i = 1; i <= clients; ++i) {
            threads.emplace_back([&desk, i] {
                const auto [number, balance] = desk.call(i).value(); // waits for the reply
                if (balance < i) std::cerr << "request " << number << " was answered wrongly\n";
            });
        }
    }
    desk.close(); // serve() returns after it has answered all earlier requests
    clerk.join();
    return account;
}

} // namespace

int main() {
    const long expected = clients * (clients + 1) / 2;
    const long locked = by_lock();
    const long queued = by_queue();
    std::cout << "under the lock " << locked << ", through the queue " << queued << '\n';
    return locked == expected && queued == expected ? 0 : 1;
}

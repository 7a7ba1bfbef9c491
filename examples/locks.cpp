/// Waits for states: a buffer between threads that is closed at the end, and a read-write lock with standard
/// guards.
#include <ekiden/sync.hpp>

#include <iostream>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

int main() {
    ekiden::bounded_buffer<int> numbers(16);             // a push waits while 16 items are inside
    ekiden::rw_mutex<ekiden::rw_policy::fifo> directory; // the policy is part of the type
    std::map<int, std::string> kinds;

    {
        std::vector<std::jthread> consumers;
        for (int i = 0; i < 2; ++i) {
            consumers.emplace_back([&] {
                while (const auto n = numbers.pop()) {
                    const std::unique_lock exclusive(directory);
                    kinds[*n] = *n % 2 == 0 ? "even" : "odd";
                }
            });
        }
        for (int n = 0; n < 1'000; ++n) (void)numbers.push(n);
        numbers.close(); // the consumers pop the remaining items, then end
    }

    const std::shared_lock shared(directory);
    std::cout << kinds.size() << " numbers; 7 is " << kinds.at(7) << '\n';
    return kinds.size() == 1'000 && kinds.at(7) == "odd" ? 0 : 1;
}

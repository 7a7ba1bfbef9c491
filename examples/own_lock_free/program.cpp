// The same headers in a program. Here each name in ekiden::checkable is the standard library's own.
#include "ms_queue.hpp"
#include "seqlock.hpp"
#include "spsc_queue.hpp"
#include "treiber_stack.hpp"

#include <cstdio>
#include <type_traits>

static_assert(std::is_same_v<ekiden::checkable::atomic<int>, std::atomic<int>>);

int main() {
    constexpr int count = 10'000;
    spsc_queue<int, 64> numbers;
    seqlock<int, 2> progress;
    ms_queue<int, 2> results;
    treiber_stack<4> places;
    std::thread worker([&] {
        ms_queue<int, 2>::handle mine(results, 1);
        for (int seen = 0; seen < count;) {
            const std::optional<int> number = numbers.try_pop();
            if (!number) {
                std::this_thread::yield();
                continue;
            }
            const std::optional<std::uint32_t> place = places.take();
            mine.push(*number);
            places.give_back(*place);
            ++seen;
            progress.write({seen, seen});
        }
    });
    long long sum = 0;
    ms_queue<int, 2>::handle mine(results, 0);
    for (int pushed = 0, popped = 0; popped < count;) {
        if (pushed < count && numbers.try_push(pushed)) ++pushed;
        if (const std::optional<int> result = mine.pop()) {
            sum += *result;
            ++popped;
        }
        const auto [a, b] = progress.read();
        if (a != b) return 1;
    }
    worker.join();
    std::printf("%lld\n", sum);
    return sum == 1LL * count * (count - 1) / 2 ? 0 : 1;
}

// A million awaits that complete immediately (ten million with an argument), in a loop and as a recursion of
// depth 100,000. The stack must not grow, however the compiler ends a function that continues with another
// coroutine. Exits with 0, or fails with a stack overflow.
#include "driver.hpp"

#include <ekiden/async/coroutine.hpp>

namespace {

ekiden::coroutine<long> one() { co_return 1; }

ekiden::coroutine<long> loop(long times) {
    long sum = 0;
    for (long i = 0; i < times; ++i) sum += co_await one();
    co_return sum;
}

ekiden::coroutine<long> deep(long depth) {
    if (depth == 0) co_return 0;
    const long below = co_await deep(depth - 1);
    co_return below + 1;
}

driver drive(long times, long& sum) {
    sum += co_await loop(times);
    const long depth = times < 100'000 ? times : 100'000;
    for (long done = 0; done < times; done += depth) sum += co_await deep(depth);
    // A coroutine of another library awaits each of them.
    for (long i = 0; i < times; ++i) sum += co_await one();
}

} // namespace

int main(int count, char**) {
    const long times = count > 1 ? 10'000'000 : 1'000'000;
    long sum = 0;
    drive(times, sum);
    return sum == 3 * times ? 0 : 1;
}

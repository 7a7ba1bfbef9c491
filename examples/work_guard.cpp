/// A work guard keeps a loop running while work for it is done elsewhere.
#include <ekiden/execution.hpp>
#include <ekiden/loop.hpp>
#include <ekiden/pool.hpp>

#include <iostream>
#include <utility>

int main() {
    ekiden::thread_pool pool(1);
    ekiden::loop_context loop(1); // one thread runs it
    int answer = 0;

    // Without the guard, run() would find nothing to do and return.
    pool.post([&answer, guard = ekiden::make_work_guard(loop)] {
        int computed = 6 * 7;
        ekiden::post(guard.get_executor(), [&answer, computed] { answer = computed; });
    }); // the guard is destroyed with the task

    const auto handlers = loop.run();
    std::cout << handlers << " handler, " << answer << '\n';
    return answer == 42 ? 0 : 1;
}

/// Three ways to take work back: cancel one task, request a stop, stop the pool.
#include <ekiden/pool.hpp>

#include <iostream>
#include <stop_token>
#include <system_error>

namespace {

/// True if the future reports that its task was canceled.
bool was_canceled(ekiden::future<int>& result) {
    try {
        return result.get() < 0;
    } catch (const std::system_error& error) {
        return error.code() == std::errc::operation_canceled;
    }
}

} // namespace

int main() {
    ekiden::thread_pool pool({.threads = 1});
    pool.pause(); // so that the tasks below are still queued when they are canceled

    ekiden::future<int> single = pool.submit([] { return 1; });
    const bool canceled = single.cancel(); // false had a worker begun it

    std::stop_source source;
    ekiden::future<int> stoppable = pool.submit(source.get_token(), [] { return 2; });
    source.request_stop();

    ekiden::future<int> kept = pool.submit([] { return 3; });
    pool.resume();
    const int result = kept.get();

    pool.pause();
    ekiden::future<int> abandoned = pool.submit([] { return 4; });
    pool.stop(); // ends what is running, abandons what is queued

    const bool all = canceled && was_canceled(single) && was_canceled(stoppable) && was_canceled(abandoned);
    std::cout << (all ? "three tasks were canceled" : "a task was not canceled") << ", one returned "
              << result << '\n';
    return all && result == 3 ? 0 : 1;
}

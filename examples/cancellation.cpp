/// Three ways to cancel work: cancel one task, request a stop, stop the pool.
#include <ekiden/pool.hpp>

#include <iostream>
#include <stop_token>
#include <system_error>

namespace {

/// Returns whether the future reports that its task was canceled.
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
    pool.pause(); // the tasks below are then still queued when they are canceled

    ekiden::future<int> single = pool.submit([] { return 1; });
    const bool canceled = single.cancel(); // false if a worker had begun it

    std::stop_source source;
    ekiden::future<int> stoppable = pool.submit(source.get_token(), [] { return 2; });
    source.request_stop();

    ekiden::future<int> kept = pool.submit([] { return 3; });
    pool.resume();
    const int result = kept.get();

    pool.pause();
    ekiden::future<int> abandoned = pool.submit([] { return 4; });
    pool.stop(); // requests a stop of running tasks and abandons queued ones

    const bool all = canceled && was_canceled(single) && was_canceled(stoppable) && was_canceled(abandoned);
    std::cout << (all ? "three tasks were canceled" : "a task was not canceled") << ", one returned "
              << result << '\n';
    return all && result == 3 ? 0 : 1;
}

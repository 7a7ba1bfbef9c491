/// Time limits, a clock that ticks, and a timer that is destroyed while handlers are queued.
#include <ekiden/execution.hpp>
#include <ekiden/pool.hpp>
#include <ekiden/timer.hpp>

#include <chrono>
#include <functional>
#include <future>
#include <iostream>
#include <system_error>

using namespace std::chrono_literals;

namespace {

/// Returns whether `work` ends before `limit`. The work cancels the timer, or the timer cancels the work.
bool in_time(ekiden::thread_pool& pool, ekiden::steady_timer::duration limit,
             const std::function<void()>& work) {
    ekiden::steady_timer timer(pool, limit);
    auto expired = timer.async_wait(ekiden::use_future);
    pool.post([&] {
        work();
        timer.cancel(); // too late if the handler has begun; then it is not counted
    });
    try {
        expired.get();
        return false;
    } catch (const std::system_error&) { // operation_canceled
        return true;
    }
}

/// Ticks five times. It sets the next expiry from the last one, so it does not drift.
class ticker {
public:
    explicit ticker(ekiden::thread_pool& pool) : timer_(pool, 1ms) { wait(); }
    int ticks_when_done() { return done_.get_future().get(); }

private:
    void wait() {
        timer_.async_wait([this](std::error_code error) {
            if (error) return;
            if (++ticks_ == 5) return done_.set_value(ticks_);
            timer_.expires_at(timer_.expiry() + 1ms);
            wait();
        });
    }

    ekiden::steady_timer timer_;
    int ticks_ = 0;
    std::promise<int> done_;
};

} // namespace

int main() {
    ekiden::thread_pool pool({.threads = 2});
    const bool fast = in_time(pool, 1h, [] {});

    ticker clock(pool);
    const int ticks = clock.ticks_when_done();

    // The timer has expired, but its handler cannot begin yet. It can still be canceled.
    ekiden::steady_timer timer(pool, 1ns);
    std::error_code reported;
    pool.pause();
    timer.async_wait([&](std::error_code error) { reported = error; });
    const std::size_t counted = timer.cancel();
    pool.resume();
    pool.join();

    std::cout << ticks << " ticks; " << counted << " handler was queued and reports: " << reported.message()
              << '\n';
    return fast && ticks == 5 && counted == 1 && reported == std::errc::operation_canceled ? 0 : 1;
}

#include <ekiden/timer/detail/timer_driver.hpp>

#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/start_thread.hpp>
#include <ekiden/timer/detail/timer_queue.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>

namespace ekiden::inline EKIDEN_ABI {
namespace {

/// The driver to which the calling thread belongs, or null if the thread belongs to no driver.
struct rings_for {
    const timer_driver* driver = nullptr;
};

} // namespace

timer_driver::timer_driver(execution_context& owner) noexcept : service(owner) {}

timer_driver::~timer_driver() = default;

void timer_driver::added() noexcept {
    try {
        is_rung_by_context_ = be_rung(*this);
    } catch (...) { // no memory, so the driver's own thread fires the timers
    }
    // Relaxed is enough, because no other thread can find the service yet.
    if (is_rung_by_context_) is_running_.store(true, sys::relaxed);
}

void timer_driver::add(timer_queue& fresh) noexcept {
    fresh.older_ = newest_.load(sys::relaxed); // relaxed is enough under the context's lock
    newest_.store(&fresh, sys::release);       // [TM3] Release: publishes the queue
}

void timer_driver::shutdown() noexcept {
    bool is_own_thread = false;
    {
        const std::lock_guard guard(starting_);
        is_closed_.store(true, sys::relaxed); // relaxed, as run() explains
        if (!thread_.joinable()) return;
        is_own_thread = rings_in_this_thread();
    }
    if (is_own_thread) { // this thread has dropped a handler that had the last reference to the context
        *is_gone_ = true;
        thread_.detach();
    } else {
        wake();
        thread_.join();
    }
}

bool timer_driver::rings_in_this_thread() const noexcept { return sys::local<rings_for>().driver == this; }

void timer_driver::moved() noexcept {
    if (is_rung_by_context_)
        tell_earlier_alarm();
    else
        wake();
}

std::int64_t timer_driver::next_ns() const noexcept {
    std::int64_t next = std::numeric_limits<std::int64_t>::max();
    // [TM3] Acquire: makes the queues visible. Pairs with the release in add().
    for (const timer_queue* q = newest_.load(sys::acquire); q != nullptr; q = q->older_)
        next = std::min(next, q->next_ns());
    return next;
}

void timer_driver::ring_all(const bool* is_gone) noexcept {
    // [TM3] Acquire: makes the queues visible. Pairs with the release in add().
    timer_queue* q = newest_.load(sys::acquire);
    while (q != nullptr) {
        timer_queue* const older = q->older_;
        q->ring(is_gone);
        if (is_gone != nullptr && *is_gone) return;
        q = older;
    }
}

// ---- the driver's own thread

void timer_driver::start_thread() {
    const std::lock_guard guard(starting_);
    if (is_running_.load(sys::relaxed) || is_closed_.load(sys::relaxed)) return;
    thread_ = sys::start_thread("timer", "the thread that a context without a loop needs", [this] {
        sys::set_thread_name("ekiden-timer");
        run();
    });
    is_running_.store(true, sys::relaxed); // relaxed, as start() explains
}

void timer_driver::run() noexcept {
    bool is_gone = false;
    is_gone_ = &is_gone;
    sys::local<rings_for>().driver = this;
    // Relaxed is enough, because [TM2] ensures that this thread notices the shutdown, and join() waits until
    // this thread has ended.
    while (!is_closed_.load(sys::relaxed)) {
        ring_all(&is_gone);
        if (is_gone) return;
        sleep();
    }
}

void timer_driver::sleep() noexcept {
    word_.store(asleep, sys::relaxed);
    // [TM2] Full fence: orders the store to word_ before the read of the alarms. Pairs with the fence in
    // wake(). Either this thread sees the earlier alarm, or the waker sees that this thread is asleep.
    if (!EKIDEN_MUTANT(timer_thread_sleeps_unseen)) sys::fence(sys::seq_cst);
    const std::int64_t next = next_ns();
    if (!is_closed_.load(sys::relaxed)) {
        if (next == std::numeric_limits<std::int64_t>::max())
            sys::futex_wait(word_, asleep);
        else if (next > static_cast<std::int64_t>(sys::now_ns()))
            (void)sys::futex_wait_until(word_, asleep,
                                        sys::clock::time_point(std::chrono::nanoseconds(next)));
    }
    word_.store(awake, sys::relaxed);
}

void timer_driver::wake() noexcept {
    // [TM2] Full fence: orders the earlier alarm (or the shutdown) before the read of word_. Pairs with the
    // fence in sleep().
    sys::fence(sys::seq_cst);
    std::uint32_t expected = asleep;
    if (word_.load(sys::relaxed) == asleep
        && word_.compare_exchange_strong(expected, awake, sys::relaxed, sys::relaxed))
        sys::futex_wake(word_);
}

} // namespace ekiden::inline EKIDEN_ABI

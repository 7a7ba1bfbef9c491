#include <lab/harness/completion.hpp>

#include <chrono>

namespace lab {

void completion::finish() noexcept {
    const std::lock_guard lock(mutex_);
    complete_ = true;
    changed_.notify_all();
}

void completion::wait(const cell& c) {
    std::unique_lock lock(mutex_);
    std::uint64_t before = done_.load(std::memory_order_relaxed);
    while (!changed_.wait_for(lock, std::chrono::duration<double>(c.patience_s()),
                              [this] { return complete_; })) {
        const std::uint64_t now = done_.load(std::memory_order_relaxed);
        if (now == before)
            c.fail("lost tasks: " + std::to_string(now) + " of "
                   + std::to_string(expected_.load(std::memory_order_relaxed)) + " ran");
        before = now;
    }
}

void completion::check(const cell& c) const {
    const std::uint64_t ran = done_.load(std::memory_order_acquire);
    const std::uint64_t expected = expected_.load(std::memory_order_relaxed);
    if (ran != expected)
        c.fail(std::to_string(ran) + " tasks ran where " + std::to_string(expected) + " were submitted");
}

void attendance::check(const cell& c) const {
    for (std::size_t i = 0; i < tasks_; ++i)
        if (const unsigned times = times_[i].load(std::memory_order_relaxed); times != 1)
            c.fail("task " + std::to_string(i) + " of " + std::to_string(tasks_) + " ran "
                   + std::to_string(times) + " times");
}

} // namespace lab

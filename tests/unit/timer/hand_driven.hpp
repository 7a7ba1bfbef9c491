/// A context that one thread drives by hand, one handler at a time, and a clock that the test sets.
#pragma once

#include <ekiden/execution/execution_context.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/queue/task.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>

namespace ekiden_test {

class hand_driven : public ekiden::execution_context {
public:
    class executor_type;

    /// If `rings` is true, the context drives the timers. Otherwise they have their own thread.
    explicit hand_driven(bool rings = true) : rings_(rings) {}
    ~hand_driven() override {
        shut_down_services();
        is_closed_ = true;
        while (ekiden::task* const one = take()) one->abandon();
        end_services();
    }

    executor_type get_executor() noexcept;

    /// Posts the handlers of timers that are due.
    void ring() {
        if (alarm_ != nullptr) alarm_->ring();
    }
    /// Runs the oldest task. Returns false if there is none.
    bool run_one() {
        ekiden::task* const one = take();
        if (one != nullptr) one->run();
        return one != nullptr;
    }
    /// Runs all queued tasks, and the tasks that they post.
    int run_all() {
        int count = 0;
        while (run_one()) ++count;
        return count;
    }
    /// Fires timers when they are due, and runs tasks, while work is outstanding. Stops after `most` tasks.
    int run(int most = 1 << 30) {
        int count = 0;
        while (count != most && (work() != 0 || queued() != 0)) {
            ring();
            if (run_one())
                ++count;
            else
                std::this_thread::yield();
        }
        return count;
    }

    std::size_t queued() {
        const std::lock_guard guard(mutex_);
        return tasks_.size();
    }
    long work() const { return work_.load(); }
    int moves() const { return moves_.load(); }
    ekiden::alarm_clock* alarm() const { return alarm_; }

private:
    bool adopt(ekiden::alarm_clock& alarm) override {
        if (rings_) alarm_ = &alarm;
        return rings_;
    }
    void alarm_moved() noexcept override { moves_.fetch_add(1); }

    ekiden::task* take() {
        const std::lock_guard guard(mutex_);
        if (tasks_.empty()) return nullptr;
        ekiden::task* const oldest = tasks_.front();
        tasks_.pop_front();
        return oldest;
    }

    const bool rings_;
    bool is_closed_ = false;
    ekiden::alarm_clock* alarm_ = nullptr;
    std::mutex mutex_;
    std::deque<ekiden::task*> tasks_;
    std::atomic<long> work_{0};
    std::atomic<int> moves_{0};
};

class hand_driven::executor_type : public ekiden::task_sink<executor_type> {
public:
    explicit executor_type(hand_driven& context) noexcept : context_(&context) {}
    friend bool operator==(const executor_type&, const executor_type&) = default;

    [[nodiscard]] hand_driven& context() const noexcept { return *context_; }
    void on_work_started() const noexcept { context_->work_.fetch_add(1); }
    void on_work_finished() const noexcept { context_->work_.fetch_sub(1); }
    [[nodiscard]] bool running_in_this_thread() const noexcept { return false; }
    bool accept(ekiden::task* given, ekiden::task_order) const {
        {
            const std::lock_guard guard(context_->mutex_);
            if (!context_->is_closed_) {
                context_->tasks_.push_back(given);
                return true;
            }
        }
        given->abandon();
        return false;
    }
    [[nodiscard]] ekiden::task* continue_with(ekiden::task* given) const {
        accept(given, ekiden::task_order::usual);
        return nullptr;
    }
    void report_unhandled(const char*) const noexcept {}

private:
    hand_driven* context_;
};

inline hand_driven::executor_type hand_driven::get_executor() noexcept { return executor_type(*this); }

/// A clock with any unit that stands still until it is set. `Tag` distinguishes several clocks.
template <class Duration = std::chrono::nanoseconds, class Tag = void>
struct hand_clock {
    using duration = Duration;
    using rep = typename duration::rep;
    using period = typename duration::period;
    using time_point = std::chrono::time_point<hand_clock>;
    static constexpr bool is_steady = false;

    static inline std::atomic<rep> value{};
    static time_point now() noexcept { return time_point(duration(value.load())); }
    static void set(duration shown) noexcept { value.store(shown.count()); }
};

} // namespace ekiden_test

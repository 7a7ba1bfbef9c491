/// A context for models that need one, but are not about one.
#pragma once

#include <ekiden/execution/execution_context.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/lock.hpp>

#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>

namespace context_model {

using namespace ekiden;

/// Its tasks wait in a list until some thread of the model runs them. Timers are rung by ring(), or by their
/// own thread. If `wakes` is true, run_until() sleeps until there is a task.
class model_context : public execution_context {
public:
    class executor_type;

    explicit model_context(bool rings = true, bool wakes = false) : rings_(rings), wakes_(wakes) {}
    ~model_context() override { end(); }

    /// No thread uses it any more.
    void end() {
        if (std::exchange(has_ended_, true)) return;
        shut_down_services();
        while (task* const one = take()) one->abandon();
        end_services();
    }

    executor_type get_executor() noexcept;
    void ring() {
        if (alarm_ != nullptr) alarm_->ring();
    }
    void run() {
        while (task* const one = take()) one->run();
    }
    /// Runs tasks until `is_over()`. The time goes on while this thread sleeps.
    template <class IsOver>
    void run_until(IsOver is_over) {
        for (;;) {
            const std::uint32_t seen = accepted_.load(sys::relaxed);
            run();
            if (is_over()) return;
            sys::futex_wait(accepted_, seen);
        }
    }
    void shut_down() { shut_down_services(); }
    void accept(task* given) {
        {
            const std::lock_guard guard(lock_);
            tasks_.push_back(given);
        }
        if (!wakes_) return;
        accepted_.fetch_add(1, sys::relaxed);
        sys::futex_wake_all(accepted_);
    }

private:
    bool take_over(task* refused) override {
        accept(refused);
        return true;
    }
    bool adopt(alarm_clock& alarm) override {
        if (rings_) alarm_ = &alarm;
        return rings_;
    }
    task* take() {
        const std::lock_guard guard(lock_);
        if (tasks_.empty()) return nullptr;
        task* const oldest = tasks_.front();
        tasks_.pop_front();
        return oldest;
    }

    const bool rings_;
    const bool wakes_;
    bool has_ended_ = false;
    alarm_clock* alarm_ = nullptr;
    sys::slow_lock lock_;
    std::deque<task*> tasks_;
    sys::atomic<std::uint32_t> accepted_{0}; // only changed if wakes_ is true
};

class model_context::executor_type : public task_sink<executor_type> {
public:
    explicit executor_type(model_context& context) noexcept : context_(&context) {}
    friend bool operator==(const executor_type&, const executor_type&) = default;

    [[nodiscard]] model_context& context() const noexcept { return *context_; }
    void on_work_started() const noexcept {}
    void on_work_finished() const noexcept {}
    [[nodiscard]] bool running_in_this_thread() const noexcept { return false; }
    bool accept(task* given, task_order) const {
        context_->accept(given);
        return true;
    }
    [[nodiscard]] task* continue_with(task* given) const {
        accept(given, task_order::usual);
        return nullptr;
    }
    void report_unhandled(const char*) const noexcept {}

private:
    model_context* context_;
};

inline model_context::executor_type model_context::get_executor() noexcept { return executor_type(*this); }

} // namespace context_model

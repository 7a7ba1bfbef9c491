/// Lets a thread that gives a task to an executor find out whether the executor has abandoned the task.
///
/// Part: execution. Used by: strands and lanes, for their drains; timers; bulk posts. Private.
#pragma once

#include <ekiden/queue/task.hpp>
#include <ekiden/sys/thread.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The offer of a task to an executor. An executor that refuses a task, or throws, abandons the task in the
/// same call. Some tasks must not be destroyed then: a drain, for example, has functions that were accepted
/// earlier. Such a task calls take_back() when it is abandoned. So it belongs again to the thread that has
/// offered it. An offer is a local variable around the call. The offers of a thread nest.
class task_offer {
public:
    explicit task_offer(const task& offered) noexcept
        : offered_(&offered), outer_(std::exchange(innermost(), this)) {}
    ~task_offer() { innermost() = outer_; }
    task_offer(const task_offer&) = delete;
    task_offer& operator=(const task_offer&) = delete;

    /// Returns whether the executor has abandoned the task. Then the task belongs to the caller again.
    [[nodiscard]] bool came_back() const noexcept { return offered_ == nullptr; }

    /// Called by a task that is abandoned. Returns true if this thread offers the task. Then the task must
    /// not destroy itself, because it belongs to this thread again.
    [[nodiscard]] static bool take_back(const task& abandoned) noexcept {
        for (task_offer* o = innermost(); o != nullptr; o = o->outer_) {
            if (o->offered_ != &abandoned) continue;
            o->offered_ = nullptr;
            return true;
        }
        return false;
    }

private:
    struct of_thread {
        task_offer* innermost;
    };
    static task_offer*& innermost() noexcept { return sys::local<of_thread>().innermost; }

    const task* offered_; // null: it has come back
    task_offer* const outer_;
};

} // namespace ekiden::inline EKIDEN_ABI

/// A thread gives a task to an executor, and learns whether the executor has abandoned it.
///
/// Part: execution. Used by: strands and lanes, for their drains; timers. Private.
#pragma once

#include <ekiden/queue/task.hpp>
#include <ekiden/sys/thread.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// An executor that refuses a task, or throws, abandons the task in the same call. A drain stands for
/// functions that were accepted, and a timer's wait has no caller. So the thread keeps such a task, decides
/// what becomes of it, and must see to it. Lies on the stack of the thread around the call. The offers of a
/// thread nest.
class task_offer {
public:
    explicit task_offer(const task& offered) noexcept
        : offered_(&offered), outer_(std::exchange(innermost(), this)) {}
    ~task_offer() { innermost() = outer_; }
    task_offer(const task_offer&) = delete;
    task_offer& operator=(const task_offer&) = delete;

    /// Returns whether the executor has abandoned the task, which is the caller's again then.
    [[nodiscard]] bool came_back() const noexcept { return offered_ == nullptr; }

    /// By a task that is asked to abandon: true if this thread offers it just now, and has it back.
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

    const task* offered_; // null: it came back
    task_offer* const outer_;
};

} // namespace ekiden::inline EKIDEN_ABI

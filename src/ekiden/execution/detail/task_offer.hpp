/// Lets a thread detect whether an executor has abandoned a task that the thread has given to the executor.
///
/// Part: execution. Used by: strands, lanes, timers, continuations, bulk posts. Private.
#pragma once

#include <ekiden/queue/task.hpp>
#include <ekiden/sys/thread.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The offer of a task to an executor. An offer is a local variable that exists during the call that gives
/// the task to the executor. The offers of a thread may be nested. An executor that refuses a task, or
/// throws, abandons the task in the same call. Some abandoned tasks must not be destroyed. An example is the
/// drain of a strand, because functions that were accepted earlier are still queued in the strand. When a
/// task of this kind is abandoned, the task calls take_back(). Then the task belongs again to the thread that
/// has offered it.
class task_offer {
public:
    explicit task_offer(const task& offered) noexcept
        : offered_(&offered), outer_(std::exchange(innermost(), this)) {}
    ~task_offer() { innermost() = outer_; }
    task_offer(const task_offer&) = delete;
    task_offer& operator=(const task_offer&) = delete;

    /// Returns whether the executor has abandoned the task. If the result is true, the task belongs to the
    /// caller again.
    [[nodiscard]] bool came_back() const noexcept { return offered_ == nullptr; }

    /// A task calls this function when it is abandoned. Returns true if this thread has offered the task. If
    /// the result is true, the task must not destroy itself, because it belongs to this thread again.
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

    const task* offered_; // null if the task has come back
    task_offer* const outer_;
};

} // namespace ekiden::inline EKIDEN_ABI

/// A list of tasks in the order in which they were added.
///
/// Part: loop. Used by: solo_loop, and shared_loop. Private.
#pragma once

#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// A list of tasks. Only one thread at a time may use the list. The list does not own the tasks.
class task_list {
public:
    task_list() = default;
    task_list(const task_list&) = delete;
    task_list& operator=(const task_list&) = delete;

    [[nodiscard]] bool is_empty() const noexcept { return oldest_.read() == nullptr; }

    void push(task* pushed) noexcept {
        pushed->begin_link();
        if (is_empty())
            oldest_.write(pushed);
        else
            newest_->next.store(pushed, sys::relaxed);
        newest_ = pushed;
    }

    /// Removes the oldest task and returns it. Returns null if the list is empty.
    [[nodiscard]] task* take() noexcept {
        task* const first = oldest_.read();
        if (first == nullptr) return nullptr;
        oldest_.write(first->next.load(sys::relaxed));
        first->end_link();
        return first;
    }

private:
    sys::cell<task*> oldest_{nullptr};
    task* newest_ = nullptr;
};

} // namespace ekiden::inline EKIDEN_ABI

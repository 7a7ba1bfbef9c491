/// A list of tasks in the order in which they were added.
///
/// Part: queue. Used by: lanes, loop.
#pragma once

#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A list of tasks. Only one thread at a time may use the list. The list does not own the tasks.
class task_list {
public:
    task_list() = default;
    /// Moves all tasks to the new list. Afterwards, `other` is empty.
    task_list(task_list&& other) noexcept : oldest_(other.oldest_.read()), newest_(other.newest_) {
        other.oldest_.write(nullptr);
    }
    /// Replaces this list, which must be empty, by `other`. Afterwards, `other` is empty.
    task_list& operator=(task_list&& other) noexcept {
        newest_ = other.newest_;
        oldest_.write(other.oldest_.read());
        if (&other != this) other.oldest_.write(nullptr);
        return *this;
    }

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

    /// Returns the oldest task, or null if the list is empty.
    [[nodiscard]] task* oldest() const noexcept { return oldest_.read(); }

    /// Appends all tasks of another list.
    void append(task_list&& later) noexcept {
        if (later.is_empty()) return;
        if (is_empty())
            oldest_.write(later.oldest_.read());
        else
            newest_->next.store(later.oldest_.read(), sys::relaxed);
        newest_ = later.newest_;
        later.oldest_.write(nullptr);
    }

    [[nodiscard]] bool contains(const task* wanted) const noexcept {
        for (const task* t = oldest_.read(); t != nullptr; t = t->next.load(sys::relaxed))
            if (t == wanted) return true;
        return false;
    }

private:
    sys::cell<task*> oldest_{nullptr};
    task* newest_ = nullptr; // undefined if the list is empty
};

} // namespace ekiden::inline EKIDEN_ABI

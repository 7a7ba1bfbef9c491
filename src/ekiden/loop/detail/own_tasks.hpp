/// What the one thread of a loop has posted to itself.
///
/// Part: loop. Used by: solo_loop. Private.
#pragma once

#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// Tasks in their order. Of one thread at a time; owns nothing.
class own_tasks {
public:
    own_tasks() = default;
    own_tasks(const own_tasks&) = delete;
    own_tasks& operator=(const own_tasks&) = delete;

    [[nodiscard]] bool is_empty() const noexcept { return oldest_.read() == nullptr; }

    void push(task* pushed) noexcept {
        pushed->begin_link();
        if (is_empty())
            oldest_.write(pushed);
        else
            newest_->next.store(pushed, sys::relaxed);
        newest_ = pushed;
    }

    /// The oldest one, or null.
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

/// Tasks that are only queued, never run, and know their number.
#pragma once

#include <ekiden/queue/task.hpp>

#include <atomic>
#include <cstddef>
#include <deque>

namespace ekiden_test {

struct numbered_task final : ekiden::task {
    explicit numbered_task(int n, int p = 0) : task(&answer), number(n), producer(p) {}
    static const char* answer(task*, ekiden::task_request) { return nullptr; }

    int number;
    int producer;
    std::atomic<int> taken{0};
};

/// Takes note that the element came out of a queue; the one that the task is.
inline numbered_task& take(ekiden::task* element) {
    auto& here = static_cast<numbered_task&>(*element);
    here.taken.fetch_add(1);
    return here;
}

/// The tasks 0 to n-1 of one producer.
class numbered_tasks {
public:
    explicit numbered_tasks(int n, int producer = 0) {
        for (int i = 0; i != n; ++i) all_.emplace_back(i, producer);
    }
    [[nodiscard]] numbered_task* at(int i) { return &all_[static_cast<std::size_t>(i)]; }
    /// How many of the first n were not taken exactly once, or of the rest were taken.
    [[nodiscard]] int taken_wrongly(int n) const {
        int wrong = 0;
        for (const numbered_task& t : all_) wrong += t.taken.load() != (t.number < n ? 1 : 0);
        return wrong;
    }
    [[nodiscard]] int taken_wrongly() const { return taken_wrongly(static_cast<int>(all_.size())); }

private:
    std::deque<numbered_task> all_;
};

} // namespace ekiden_test

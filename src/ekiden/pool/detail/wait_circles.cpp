#include <ekiden/pool/detail/wait_circles.hpp>

#include <ekiden/pool/detail/scheduler.hpp>
#include <ekiden/pool/detail/worker.hpp>

#include <mutex>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

void wait_circles::begin_wait(worker& self) noexcept {
    std::vector<unsigned> circle;
    try {
        const std::lock_guard guard(lock_);
        self.is_waiting_for_result = true;
        const unsigned length = circle_through(self);
        if (length == 0) return;
        circle.reserve(length);
        const worker* next = &self;
        // The circle may have been reported before, because a worker in a circle can be woken for other work,
        // and then sleep again.
        bool is_told = true;
        for (unsigned i = 0; i != length; ++i, next = worker_that_runs_what(*next)) {
            circle.push_back(next->index());
            is_told = std::exchange(next->is_in_told_circle(), true) && is_told;
        }
        if (is_told) return;
    } catch (...) { // no memory for a report
        return;
    }
    pool_.report_stall(stall_report::reason::deadlocked,
                       circle); // needs no lock, because the circle cannot change
}

void wait_circles::end_wait(worker& self) noexcept {
    const std::lock_guard guard(lock_);
    self.is_waiting_for_result = false;
}

std::optional<std::string> wait_circles::result_awaited_by(const worker& which) const {
    const std::lock_guard guard(lock_);
    if (!which.is_waiting_for_result) return std::nullopt;
    return std::string(described_type(which.awaited().type()(nullptr, task_request::describe)));
}

/// The worker `waiting` waits for the result of a task. Returns the waiting worker that has this task on its
/// stack, or null.
const worker* wait_circles::worker_that_runs_what(const worker& waiting) const noexcept {
    for (const auto& w : pool_.workers()) {
        // The stack of a waiting worker cannot change before the worker calls end_wait(), which acquires the
        // lock.
        if (w->is_waiting_for_result && w->runs(waiting.awaited())) return w.get();
    }
    return nullptr;
}

/// Returns the number of waits in the circle of `first`, or 0 if `first` is not part of a circle.
unsigned wait_circles::circle_through(const worker& first) const noexcept {
    const auto most = static_cast<unsigned>(pool_.workers().size());
    unsigned length = 1;
    const worker* next = worker_that_runs_what(first);
    while (next != nullptr && next != &first && length <= most) {
        next = worker_that_runs_what(*next);
        ++length;
    }
    return next == &first ? length : 0;
}

} // namespace ekiden::inline EKIDEN_ABI

#include <ekiden/pool/detail/wait_circles.hpp>

#include <ekiden/pool/detail/scheduler.hpp>
#include <ekiden/pool/detail/worker.hpp>

#include <mutex>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

void wait_circles::begin_wait(worker& self, bool is_too_deep) noexcept {
    std::vector<unsigned> circle;
    try {
        std::unique_lock guard(lock_);
        self.is_waiting_for_result = true;
        self.is_too_deep = is_too_deep;
        const unsigned too_deep = too_deep_ += is_too_deep ? 1 : 0;
        const unsigned length = circle_through(self);
        if (length == 0) {
            guard.unlock();
            if (is_too_deep) report_depth(too_deep);
            return;
        }
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
    if (!std::exchange(self.is_too_deep, false)) return;
    --too_deep_;
    is_depth_told_ = false;
}

/// Reports that no thread of the pool can run the queued tasks, if this is so. `too_deep` is the number of
/// workers that were too deep a moment ago. The last of these workers sees the number of all of them.
void wait_circles::report_depth(unsigned too_deep) noexcept {
    if (!pool_.threads().are_all_blocked(too_deep) || !pool_.has_work()) return;
    std::vector<unsigned> workers;
    try {
        const std::lock_guard guard(lock_);
        if (too_deep != too_deep_ || std::exchange(is_depth_told_, true)) return;
        for (const auto& w : pool_.workers()) {
            if (w->is_too_deep) workers.push_back(w->index());
        }
    } catch (...) { // no memory for a report
        return;
    }
    pool_.report_stall(stall_report::reason::too_deep, workers);
}

std::optional<std::string> wait_circles::result_awaited_by(const worker& which) const {
    const std::lock_guard guard(lock_);
    if (!which.is_waiting_for_result) return std::nullopt;
    return std::string(described_type(which.awaited().type()(nullptr, task_request::describe)));
}

std::size_t wait_circles::depth_of(const worker& which) const {
    const std::lock_guard guard(lock_);
    return which.is_waiting_for_result ? which.depth() : 0;
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

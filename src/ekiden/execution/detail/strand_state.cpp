#include <ekiden/execution/detail/strand_state.hpp>

#include <ekiden/context/serial_scope.hpp>
#include <ekiden/execution/detail/batch_limit.hpp>
#include <ekiden/execution/detail/run_task.hpp>
#include <ekiden/execution/detail/task_offer.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

void strand_state::run_batch(const operations& how, const execution_context& inner) {
    if (std::exchange(is_in_passing_, false)) {
        // The caller of dispatch() runs the drain. This run executes only the function of the dispatch(), and
        // posts the other functions.
        const serial_scope here(this);
        try {
            task* own = next();
            while (own == nullptr) own = next(); // another thread's push is not complete
            run_task(*own);
        } catch (...) {
            leave(how, task_order::usual);
            throw;
        }
        return leave(how, task_order::usual);
    }
    for (bool is_kept = false;; is_kept = true) {
        try {
            run_tasks(inner, is_kept);
        } catch (...) {
            leave(how, task_order::last); // the exception may end the thread's work for the context
            throw;
        }
        if (is_over(how)) return;
        try {
            if (!EKIDEN_MUTANT(strand_forgets_the_rest)) (void)offer(how, task_order::deferred);
            return;
        } catch (...) { // the inner executor does not accept the drain, so this thread continues
            if (inner.refuses_tasks()) return abandon_all(how, nullptr, false);
        }
    }
}

/// Runs tasks until no task is ready, the batch is full, or the inner context is paused or stopped. If
/// `is_kept` is true, the inner executor has not accepted the drain. Then the first task runs even in a
/// paused context.
void strand_state::run_tasks(const execution_context& inner, bool is_kept) {
    const serial_scope here(this);
    const trace::detail::interval turn(trace::kind::turn, "strand", trace::detail::id_of(this));
    batch_limit limit(tasks_are_long_);
    // The thread first sees the task, and then checks the gate. So if the task was posted after pause(), the
    // check sees the pause.
    while ((EKIDEN_MUTANT(strand_asks_the_gate_first) || has_next())
           && (std::exchange(is_kept, false) || !inner.holds_tasks())) {
        task* const taken = next();
        if (taken == nullptr) break;
        run_task(*taken);
        if (!limit.goes_on(queue_.is_drained())) break;
    }
    tasks_are_long_ = limit.are_long();
}

/// Calls `check` until it returns a true value, the queue is empty, or a push takes long. Returns the last
/// value of `check`.
template <class Check>
auto strand_state::after_pushes(Check check) noexcept {
    auto found = check();
    if (found || queue_.is_drained()) return found;
    // A push is not complete, or the last handle has been destroyed. A push is short, unless the pushing
    // thread has been preempted. The preempted thread may need this processor.
    for (int i = 0; i != 8; ++i) sys::spin_hint();
    found = check();
    if (!found && !queue_.has_ended()) {
        sys::yield();
        found = check();
    }
    return found;
}

/// Dequeues the oldest task. Returns null if there is no task, or if a push takes long.
task* strand_state::next() noexcept {
    return after_pushes([this]() noexcept { return queue_.take(); });
}

/// Returns whether next() may find a task. Everything that happened before the post of this task is visible.
bool strand_state::has_next() noexcept {
    return after_pushes([this]() noexcept { return queue_.has_oldest(); });
}

/// Makes the strand idle if no task is queued. Destroys the strand if its last handle has been destroyed.
/// Returns true if the strand is idle or destroyed. Only the owner of the drain may call this function.
bool strand_state::is_over(const operations& how) noexcept {
    if (queue_.try_rest()) return true;
    if (!queue_.has_ended()) return false;
    how.end(*this);
    return true;
}

/// Gives the drain to the inner executor. If the executor refuses the drain, abandons all tasks and returns
/// false. Throws whatever the executor throws. If it throws, this thread still owns the drain.
bool strand_state::offer(const operations& how, task_order order) {
    const task_offer mine(*this);
    try {
        const bool is_in = how.schedule(*this, order);
        if (!mine.came_back()) return is_in;
    } catch (...) {
        if (!mine.came_back() || EKIDEN_MUTANT(strand_forgets_what_came_back))
            return true; // the executor has accepted the drain before it threw
        throw;
    }
    abandon_all(how, nullptr, false);
    return false;
}

bool strand_state::start(const operations& how, task_order order, const task* given) {
    try {
        return offer(how, order);
    } catch (...) {
        abandon_all(how, given, true);
        throw;
    }
}

task* strand_state::start_here(const operations& how, const task* given) {
    is_in_passing_ = true;
    const task_offer mine(*this);
    task* now = nullptr;
    try {
        now = how.continue_here(*this);
    } catch (...) {
        if (mine.came_back()) abandon_all(how, given, true);
        throw;
    }
    if (mine.came_back()) abandon_all(how, nullptr, false);
    return now;
}

/// Gives up the drain. Makes the strand idle, destroys the strand, or schedules the drain again.
void strand_state::leave(const operations& how, task_order order) noexcept {
    if (is_over(how)) return;
    try {
        if (!EKIDEN_MUTANT(strand_forgets_the_rest)) (void)offer(how, order);
    } catch (...) {
        abandon_all(how, nullptr, true);
    }
}

void strand_state::abandon(const operations& how) noexcept {
    if (!task_offer::take_back(*this)) abandon_all(how, nullptr, false);
}

/// Abandons all queued tasks. Only the owner of the drain may call this function. If `reports` is true,
/// reports the current exception for each task except `own`.
void strand_state::abandon_all(const operations& how, const task* own, bool reports) noexcept {
    is_in_passing_ = false;
    for (;;) {
        while (task* const dropped = queue_.take()) {
            if (reports && dropped != own) how.report(*this);
            own = dropped == own ? nullptr : own;
            dropped->abandon();
        }
        if (EKIDEN_MUTANT(strand_abandoned_stays_busy) || queue_.try_rest()) return;
        if (queue_.has_ended()) return how.end(*this);
        sys::yield(); // a push is not complete
    }
}

} // namespace ekiden::inline EKIDEN_ABI

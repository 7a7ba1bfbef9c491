#include <ekiden/execution/strand_state.hpp>

#include <ekiden/context/serial_scope.hpp>
#include <ekiden/execution/batch_limit.hpp>
#include <ekiden/execution/run_task.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI {

void strand_state::run_batch(const operations& how) {
    // A thread that runs the drain in passing has other things to do before it looks for tasks again.
    const task_order rest = std::exchange(is_in_passing_, false) ? task_order::last : task_order::deferred;
    try {
        run_tasks();
    } catch (...) {
        leave_after_throw(how);
        throw;
    }
    leave(how, rest);
}

void strand_state::leave_in_passing(const operations& how) {
    if (queue_.is_drained() && queue_.try_rest()) return;
    is_in_passing_ = true;
    run_batch(how);
}

/// The thread may leave the context with the exception, so the rest is not left to it alone.
void strand_state::leave_after_throw(const operations& how) noexcept {
    try {
        leave(how, task_order::last);
    } catch (...) { // the rest has been abandoned; the exception that came first goes out
    }
}

/// Runs tasks until none is ready, or the batch is full.
void strand_state::run_tasks() {
    const serial_scope here(this);
    const trace::detail::interval turn(trace::kind::turn, "strand", trace::detail::id_of(this));
    batch_limit limit(tasks_are_long_);
    while (task* const taken = next()) {
        run_task(*taken);
        if (!limit.goes_on(queue_.is_drained())) break;
    }
    tasks_are_long_ = limit.are_long();
}

/// The oldest task, or null if there is none, or a push takes long.
task* strand_state::next() noexcept {
    task* found = queue_.take();
    if (found != nullptr || queue_.is_drained()) return found;
    // A push is under way, or the last handle has gone. Usually a push takes some nanoseconds; if its thread
    // was interrupted it may want this processor.
    for (int i = 0; i != 8; ++i) sys::spin_hint();
    found = queue_.take();
    if (found == nullptr && !queue_.has_ended()) {
        sys::yield();
        found = queue_.take();
    }
    return found;
}

/// This thread has the drain no more: the strand rests, or ends, or the drain is scheduled again.
void strand_state::leave(const operations& how, task_order order) {
    if (queue_.try_rest()) return;
    if (queue_.has_ended())
        how.end(*this);
    else if (!EKIDEN_MUTANT(strand_forgets_the_rest))
        how.schedule(*this, order); // refused: abandoned
}

void strand_state::abandon_all(const operations& how) noexcept {
    for (;;) {
        while (task* const dropped = queue_.take()) dropped->abandon();
        if (EKIDEN_MUTANT(strand_abandoned_stays_busy) || queue_.try_rest()) return;
        if (queue_.has_ended()) return how.end(*this);
        sys::yield(); // a push is under way
    }
}

} // namespace ekiden::inline EKIDEN_ABI

/// The state of a strand without its executor: a queue, a drain that runs the queued tasks, and a count of
/// handles. strand.md explains the protocol and proves it.
///
/// Part: execution. Used by: strand. Private.
#pragma once

#include <ekiden/execution/execution_context.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/queue/serial_queue.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// The state of a strand. The state is also a task, which is called the drain of the strand. The drain is
/// queued in the inner context while tasks are queued in the strand. So a strand allocates no memory when it
/// becomes busy. Without the executor, the state has 40 bytes.
class strand_state : public task {
public:
    strand_state(const strand_state&) = delete;
    strand_state& operator=(const strand_state&) = delete;

    /// Appends a task, after enqueue_if_busy() has returned false. The caller must be in a post_scope of the
    /// inner context. If enqueue() returns true, the strand was idle, and the caller owns the drain. The
    /// caller must give the drain to the inner executor, in the same scope. If enqueue() returns false, the
    /// state may have been destroyed. Any thread with a handle may call enqueue().
    [[nodiscard]] bool enqueue(task* given) noexcept { return queue_.push(given); }

    /// Appends a task like enqueue(), but only if the strand is busy. Returns false, without an effect, if
    /// the strand is idle, or if another post comes between. If enqueue_if_busy() returns true, the state may
    /// have been destroyed. Any thread with a handle may call enqueue_if_busy().
    [[nodiscard]] bool enqueue_if_busy(task* given) noexcept { return queue_.push_if_busy(given); }

    /// Tries to make an idle strand busy, so that the caller can call one function that is not part of a
    /// task. The caller must be a thread of the inner context. If begin_in_passing() returns true, the strand
    /// was idle, and the caller owns the drain. The caller must then call one function inside a serial_scope
    /// of this strand, and then call leave_in_passing(). Any thread with a handle may call
    /// begin_in_passing().
    [[nodiscard]] bool begin_in_passing() noexcept { return queue_.try_begin(); }

    /// Counts one more handle. The caller must have a handle.
    void add_handle() noexcept { handles_.fetch_add(1, sys::relaxed); }

    /// Counts one handle less. Returns true if the caller must destroy the state, because no thread uses the
    /// state any more.
    [[nodiscard]] bool drop_handle() noexcept {
        // [SN1] both sides. Release: publishes what was done through this handle. Acquire: the last handle
        // sees what was done through the other handles.
        if (handles_.fetch_sub(1, sys::acq_rel) != 1) return false;
        return queue_.end() || EKIDEN_MUTANT(strand_ends_under_its_drain);
    }

protected:
    /// The functions that depend on the type of the executor.
    struct operations {
        /// Gives the drain to accept() of the inner executor. Afterwards the state may have been destroyed.
        bool (*schedule)(strand_state&, task_order);
        /// Gives the drain to continue_with() of the inner executor. The caller must run the returned task.
        task* (*continue_here)(strand_state&);
        /// Reports the current exception as an exception of a function of the strand.
        void (*report)(strand_state&) noexcept;
        /// Destroys the state.
        void (*end)(strand_state&) noexcept;
    };

    explicit strand_state(task::function drain) noexcept : task(drain) {}
    ~strand_state() = default;

    /// Gives the drain to the inner executor, after enqueue(given) has returned true. If the executor accepts
    /// no more tasks, abandons all queued tasks and returns false. If the executor throws, abandons all
    /// queued tasks, reports the exception for each of them except `given`, and throws the exception.
    /// Afterwards the state may have been destroyed.
    bool start(const operations& how, task_order order, const task* given);

    /// Gives the drain to the inner executor for a call of dispatch(). Handles refusals and exceptions like
    /// start(). The inner executor may let the caller run the drain at once. Returns the task that the caller
    /// must run, or null. The drain runs only `given`. An exception of `given` may reach the caller.
    [[nodiscard]] task* start_here(const operations& how, const task* given);

    /// Runs a batch of tasks. Then schedules the drain for the remaining tasks. If a task throws, run_batch()
    /// schedules the drain and then throws the exception of the task. If `inner` is paused or stopped, no
    /// further task begins. Afterwards the state may have been destroyed.
    void run_batch(const operations& how, const execution_context& inner);

    /// Ends a call that begin_in_passing() has begun. Schedules the drain for tasks that were posted
    /// meanwhile. Afterwards the state may have been destroyed.
    void leave_in_passing(const operations& how) noexcept { leave(how, task_order::usual); }

    /// Called when an executor abandons the drain. If this thread has offered the drain to the executor, the
    /// drain belongs to this thread again. If this thread has not offered the drain, all queued tasks are
    /// abandoned, and the strand becomes idle. Afterwards the state may have been destroyed.
    void abandon(const operations& how) noexcept;

private:
    template <class Check>
    [[nodiscard]] auto after_pushes(Check check) noexcept;
    [[nodiscard]] task* next() noexcept;
    [[nodiscard]] bool has_next() noexcept;
    void run_tasks(const execution_context& inner, bool is_kept);
    [[nodiscard]] bool is_over(const operations& how) noexcept;
    [[nodiscard]] bool offer(const operations& how, task_order order);
    void leave(const operations& how, task_order order) noexcept;
    void abandon_all(const operations& how, const task* own, bool reports) noexcept;

    serial_queue queue_;
    sys::atomic<std::uint32_t> handles_{1};
    // Only the owner of the drain uses these two flags.
    bool tasks_are_long_ = true;
    bool is_in_passing_ = false;
};

} // namespace ekiden::inline EKIDEN_ABI

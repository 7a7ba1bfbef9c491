/// The state of a strand without its executor: a queue, a drain that runs the queued tasks, and a count of
/// handles. The protocol and its proof: strand.md.
///
/// Part: execution. Used by: strand, which adds the executor. Private.
#pragma once

#include <ekiden/execution/execution_context.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/observe/trace.hpp>
#include <ekiden/queue/serial_queue.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// The state of a strand. It is also the strand's drain: a task that is queued in the inner context while
/// tasks are queued here. So a strand allocates nothing when it becomes busy. It has 40 bytes, without the
/// executor.
class strand_state : public task {
public:
    strand_state(const strand_state&) = delete;
    strand_state& operator=(const strand_state&) = delete;

    /// Appends a task. Returns true if the strand was idle. Then the caller owns the drain, and must give it
    /// to the inner executor. After false, the state may have been destroyed. Any thread with a handle may
    /// call it.
    [[nodiscard]] bool enqueue(task* given) noexcept {
        trace::detail::moment(trace::kind::queued, given);
        return queue_.push(given);
    }

    /// Tries to begin a call without a task, on a thread of the inner context. Returns true if the strand was
    /// idle. Then the caller owns the drain. It must call one function inside a serial_scope of this strand,
    /// and then leave_in_passing(). Any thread with a handle may call it.
    [[nodiscard]] bool begin_in_passing() noexcept { return queue_.try_begin(); }

    /// Adds a handle. The caller must have one.
    void add_handle() noexcept { handles_.fetch_add(1, sys::relaxed); }

    /// Removes a handle. Returns true if the state is no longer used. Then the caller must destroy it.
    [[nodiscard]] bool drop_handle() noexcept {
        // [SN1] both sides. Release: what was done with this handle. Acquire: what was done with the other
        // handles, if this is the last one.
        if (handles_.fetch_sub(1, sys::acq_rel) != 1) return false;
        return queue_.end() || EKIDEN_MUTANT(strand_ends_under_its_drain);
    }

protected:
    /// The functions that depend on the type of the executor.
    struct operations {
        /// Gives the drain to the inner executor, like its accept(). Afterwards the state may have been
        /// destroyed.
        bool (*schedule)(strand_state&, task_order);
        /// Gives the drain to the inner executor, like its continue_with(). The caller must run the task that
        /// it returns.
        task* (*continue_here)(strand_state&);
        /// Reports the exception that is being handled as an exception of a function.
        void (*report)(strand_state&) noexcept;
        /// Destroys the state.
        void (*end)(strand_state&) noexcept;
    };

    explicit strand_state(task::function drain) noexcept : task(drain) {}
    ~strand_state() = default;

    /// Gives the drain to the inner executor, after enqueue(given) has returned true. Returns false if the
    /// executor accepts no more tasks. Then all queued tasks have been abandoned. Throws whatever the
    /// executor throws. Then all queued tasks have been abandoned, and all except `given` have been reported.
    /// Afterwards the state may have been destroyed.
    bool start(const operations& how, task_order order, const task* given);

    /// Does the same for dispatch(): the inner executor may let the caller run the drain in its own function.
    /// Returns the task that the caller must run, or null. The drain then runs `given` and no other function.
    /// Exceptions of `given` may pass through.
    [[nodiscard]] task* start_here(const operations& how, const task* given);

    /// Runs the drain: a batch of tasks. Then it schedules the drain for the remaining tasks. An exception of
    /// a task passes through after that. If `inner` is paused or stopped, no further task begins. Afterwards
    /// the state may have been destroyed.
    void run_batch(const operations& how, const execution_context& inner);

    /// Ends a call after begin_in_passing(). Schedules the drain for tasks that were posted meanwhile.
    /// Afterwards the state may have been destroyed.
    void leave_in_passing(const operations& how) noexcept { leave(how, task_order::usual); }

    /// Abandons the drain. If this thread offers the drain to an executor, the drain belongs to this thread
    /// again. Otherwise all queued tasks are abandoned, and the strand is idle. Afterwards the state may have
    /// been destroyed.
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
    // These belong to the owner of the drain.
    bool tasks_are_long_ = true;
    bool is_in_passing_ = false;
};

} // namespace ekiden::inline EKIDEN_ABI

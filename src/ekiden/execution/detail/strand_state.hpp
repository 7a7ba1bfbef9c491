/// What a strand is apart from its executor's type: a queue, a drain that runs what is in it, a count of
/// handles. The protocol and its proof: strand.md.
///
/// Part: execution. Used by: strand, which adds the executor.
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

/// The state of a strand is a task itself, its drain: queued in the inner context when there is something to
/// run. So a strand needs no memory when it becomes busy. 40 bytes, and the executor behind them.
class strand_state : public task {
public:
    strand_state(const strand_state&) = delete;
    strand_state& operator=(const strand_state&) = delete;

    /// Appends a task. True: the strand was idle, and the caller has the drain: it gives it to the inner
    /// executor. Any thread that has a handle; the state may be gone after false.
    [[nodiscard]] bool enqueue(task* given) noexcept {
        trace::detail::moment(trace::kind::queued, given);
        return queue_.push(given);
    }

    /// True: the strand was idle, and the caller, on a thread of the inner context, is the drain now. It
    /// calls one function, inside of a serial_scope of this, and then leave_in_passing(). Any thread that has
    /// a handle.
    [[nodiscard]] bool begin_in_passing() noexcept { return queue_.try_begin(); }

    /// One more handle. Any thread that has one.
    void add_handle() noexcept { handles_.fetch_add(1, sys::relaxed); }

    /// One handle less. True: nobody has the state any more, and the caller ends it.
    [[nodiscard]] bool drop_handle() noexcept {
        // [SN1] acq_rel: what was done with this handle, for the last one; with all others, for this one.
        if (handles_.fetch_sub(1, sys::acq_rel) != 1) return false;
        return queue_.end() || EKIDEN_MUTANT(strand_ends_under_its_drain);
    }

protected:
    /// What the drain needs of the type that the state has.
    struct operations {
        /// Gives the drain to the inner executor, as accept() of that. The state may be gone afterwards.
        bool (*schedule)(strand_state&, task_order);
        /// The same, as continue_with() of that: the caller runs the task that it returns.
        task* (*continue_here)(strand_state&);
        /// Reports the exception that is being handled as one of a function.
        void (*report)(strand_state&) noexcept;
        void (*end)(strand_state&) noexcept;
    };

    explicit strand_state(task::function drain) noexcept : task(drain) {}
    ~strand_state() = default;

    /// After enqueue() has given `given` and the drain to the caller: gives the drain to the inner executor.
    /// False: that takes no more tasks, and all are abandoned. If that throws, so does this; `given` has been
    /// abandoned, and what others have posted meanwhile, too, each of which is reported. The state may be
    /// gone afterwards.
    bool start(const operations& how, task_order order, const task* given);

    /// The same for a function that the inner executor may let in at once, inside of the caller's own
    /// function: the task that the caller then runs, or null. The drain runs `given` and no other function.
    /// What that throws may pass through.
    [[nodiscard]] task* start_here(const operations& how, const task* given);

    /// The drain runs: a batch of tasks, then schedules itself for the rest. An exception of a task passes
    /// through when that has been done. `inner` may hold the tasks between two of them. The state may be gone
    /// afterwards.
    void run_batch(const operations& how, const execution_context& inner);

    /// After begin_in_passing() and the call: schedules the drain for what has come meanwhile. The state may
    /// be gone afterwards.
    void leave_in_passing(const operations& how) noexcept { leave(how, task_order::usual); }

    /// The drain is abandoned: all tasks are, and the strand is idle, unless the thread is about to schedule
    /// the drain, which it has back then. The state may be gone afterwards.
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
    // Of whoever has the drain:
    bool tasks_are_long_ = true;
    bool is_in_passing_ = false;
};

} // namespace ekiden::inline EKIDEN_ABI

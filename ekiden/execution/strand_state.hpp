/// What a strand is apart from its executor's type: a queue, a drain that runs what is in it, a count of
/// handles. The protocol and its proof: strand.md.
///
/// Part: execution. Used by: strand, which adds the executor.
#pragma once

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

    /// The caller, which has the drain, lets the inner executor run it in its place: then the caller does not
    /// come to the rest of a batch soon, and others are told of it.
    void runs_in_passing() noexcept { is_in_passing_ = true; }

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
        void (*end)(strand_state&) noexcept;
    };

    explicit strand_state(task::function drain) noexcept : task(drain) {}
    ~strand_state() = default;

    /// The drain runs: a batch of tasks, then schedules itself for the rest. An exception of a task passes
    /// through when that has been done. The state may be gone afterwards.
    void run_batch(const operations& how);

    /// After begin_in_passing() and the call: runs what has come meanwhile, or, if the call has thrown,
    /// schedules the drain for that. What a task throws passes through. The state may be gone afterwards.
    void leave_in_passing(const operations& how);
    void leave_after_throw(const operations& how) noexcept;

    /// The drain is abandoned: all tasks are, and the strand is idle. The state may be gone afterwards.
    void abandon_all(const operations& how) noexcept;

private:
    [[nodiscard]] task* next() noexcept;
    void run_tasks();
    void leave(const operations& how, task_order order);

    serial_queue queue_;
    sys::atomic<std::uint32_t> handles_{1};
    // Of whoever has the drain:
    bool tasks_are_long_ = true;
    bool is_in_passing_ = false;
};

} // namespace ekiden::inline EKIDEN_ABI

/// An interface for work that the workers of a pool find outside of the pool's queues.
///
/// Part: pool. Used by: pool, fork. Fork-join implements this interface. Private.
#pragma once

#include <ekiden/sys/config.hpp>

namespace ekiden::inline EKIDEN_ABI {

class task;

/// A place where workers find work. A service implements this interface, and passes itself to
/// scheduler::set_source(). The service lives as long as the threads of the pool. The tasks from a work
/// source are pieces of running tasks, so they run even in a paused pool.
class work_source {
public:
    /// Any thread: returns whether there may be work. Without a fence before the call, the result is only a
    /// hint.
    [[nodiscard]] virtual bool has_work() const noexcept = 0;

    /// Called by worker `w`. Returns a task that the worker must run at once, or null.
    [[nodiscard]] virtual task* find(unsigned w) noexcept = 0;

    /// Called by a worker that has found no work. Requests that other threads publish forked calls.
    virtual void ask() noexcept = 0;

protected:
    work_source() = default;
    ~work_source() = default;
};

} // namespace ekiden::inline EKIDEN_ABI

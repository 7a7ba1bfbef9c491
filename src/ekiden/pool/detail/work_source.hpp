/// Work that the workers of a pool find outside its queues.
///
/// Part: pool. Used by: scheduler and worker (search it), fork (implements it). Private.
#pragma once

#include <ekiden/sys/config.hpp>

namespace ekiden::inline EKIDEN_ABI {

class task;

/// An interface for a service. The service passes itself to scheduler::set_source() and lives as long as the
/// threads of the pool. Its tasks are pieces of running tasks, so they run in a paused pool, too.
class work_source {
public:
    /// Any thread: returns whether there may be work. A hint, except for what the caller's fences order.
    [[nodiscard]] virtual bool has_work() const noexcept = 0;

    /// Worker `w`: returns a task to run at once, or null.
    [[nodiscard]] virtual task* find(unsigned w) noexcept = 0;

    /// A worker has found no work: requests that other threads publish what they can give away.
    virtual void ask() noexcept = 0;

protected:
    work_source() = default;
    ~work_source() = default;
};

} // namespace ekiden::inline EKIDEN_ABI

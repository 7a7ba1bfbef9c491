/// Work that the workers of a pool find outside of its queues.
///
/// Part: pool. Used by: scheduler, worker (check it); fork (implements it). Private.
#pragma once

#include <ekiden/sys/config.hpp>

namespace ekiden::inline EKIDEN_ABI {

class task;

/// A service of a pool passes itself to scheduler::set_source() and lives as long as the pool's threads. What
/// it finds belongs to a task that runs already, so it also runs while the pool is paused.
class work_source {
public:
    /// Any thread: returns whether there may be work. A hint, except for the order that the caller's fences
    /// give.
    [[nodiscard]] virtual bool has_work() const noexcept = 0;

    /// Worker `w`: returns work to run at once, or null.
    [[nodiscard]] virtual task* find(unsigned w) noexcept = 0;

    /// A worker has found no work: requests that other threads publish what they can give away.
    virtual void ask() noexcept = 0;

protected:
    work_source() = default;
    ~work_source() = default;
};

} // namespace ekiden::inline EKIDEN_ABI

/// Work that the workers of a pool find elsewhere than in its queues.
///
/// Part: pool. Used by: scheduler, worker (look there); fork (is one). Private.
#pragma once

#include <ekiden/sys/config.hpp>

namespace ekiden::inline EKIDEN_ABI {

class scheduler;
class task;

/// A service of a pool adds itself with scheduler::add_source() and lives as long as the pool's threads. What
/// it finds belongs to a task that runs already: it runs while the pool is paused, too.
class work_source {
public:
    /// Any thread: whether there may be something to find. A hint, but for the order that the caller's
    /// fences give.
    [[nodiscard]] virtual bool has_work() const noexcept = 0;

    /// Worker `w`: something to run at once, or null.
    [[nodiscard]] virtual task* find(unsigned w) noexcept = 0;

    /// A worker wants work, and has found none: what can be given away should be.
    virtual void ask() noexcept = 0;

protected:
    work_source() = default;
    ~work_source() = default;

private:
    friend class scheduler;
    work_source* older_ = nullptr;
};

} // namespace ekiden::inline EKIDEN_ABI

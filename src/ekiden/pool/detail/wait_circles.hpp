/// Which workers wait for the result of a task, and whether they wait for each other in a circle.
///
/// Part: pool. Used by: worker (reports its waits), scheduler (owns it), pool_threads (describes threads).
/// Private.
#pragma once

#include <ekiden/pool/stall.hpp>
#include <ekiden/sys/lock.hpp>

#include <optional>
#include <string>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

class scheduler;
class worker;

class wait_circles {
public:
    explicit wait_circles(scheduler& pool) noexcept : pool_(pool) {}

    /// Called before the worker sleeps until its result is ready. If this wait closes a circle, reports the
    /// circle once. The check is exact, because no worker of a circle leaves it before its end_wait().
    void begin_wait(worker& self) noexcept;
    void end_wait(worker& self) noexcept;

    /// Any thread: returns the type of the task whose result the worker waits for in its sleep, or nothing.
    [[nodiscard]] std::optional<std::string> result_awaited_by(const worker& which) const;

private:
    [[nodiscard]] const worker* worker_that_runs_what(const worker& waiting) const noexcept;
    [[nodiscard]] unsigned circle_through(const worker& first) const noexcept;

    scheduler& pool_;
    mutable sys::slow_lock lock_; // protects worker::is_waiting_for_result, too
};

} // namespace ekiden::inline EKIDEN_ABI

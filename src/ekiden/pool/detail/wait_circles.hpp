/// Records which workers wait for the results of tasks, and detects workers that wait for each other in a
/// circle.
///
/// Part: pool. Used by: pool. Private.
#pragma once

#include <ekiden/pool/stall.hpp>
#include <ekiden/sys/lock.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

class scheduler;
class worker;

class wait_circles {
public:
    explicit wait_circles(scheduler& pool) noexcept : pool_(pool) {}

    /// Called before the worker `self` sleeps until its awaited result is ready. If this wait closes a
    /// circle, reports the circle once. The check is exact, because each waiting worker must call end_wait()
    /// before it continues. `is_too_deep` says that the worker runs no tasks meanwhile, because its stack is
    /// deep. If all threads of the pool wait in this way while tasks are queued, reports this once.
    void begin_wait(worker& self, bool is_too_deep = false) noexcept;
    void end_wait(worker& self) noexcept;

    /// Any thread: if the worker sleeps until a result is ready, returns the type of the result's task.
    /// Otherwise returns std::nullopt.
    [[nodiscard]] std::optional<std::string> result_awaited_by(const worker& which) const;
    /// Any thread: returns how many waits are nested on the stack of the worker. Returns 0 if the worker does
    /// not sleep until a result is ready.
    [[nodiscard]] std::size_t depth_of(const worker& which) const;

private:
    [[nodiscard]] const worker* worker_that_runs_what(const worker& waiting) const noexcept;
    [[nodiscard]] unsigned circle_through(const worker& first) const noexcept;
    void report_depth(unsigned too_deep) noexcept;

    scheduler& pool_;
    mutable sys::slow_lock lock_; // also protects worker::is_waiting_for_result and worker::is_too_deep
    unsigned too_deep_ = 0;       // under lock_: the number of workers whose is_too_deep is true
    bool is_depth_told_ = false;  // under lock_: none of these workers has continued since the report
};

} // namespace ekiden::inline EKIDEN_ABI

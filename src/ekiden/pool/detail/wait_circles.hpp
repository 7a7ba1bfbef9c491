/// Records which workers wait for the results of tasks, and detects workers that wait for each other in a
/// circle.
///
/// Part: pool. Used by: pool. Private.
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

    /// Called before the worker `self` sleeps until its awaited result is ready. If this wait closes a
    /// circle, reports the circle once. The check is exact, because each waiting worker must call end_wait()
    /// before it continues.
    void begin_wait(worker& self) noexcept;
    void end_wait(worker& self) noexcept;

    /// Any thread: if the worker sleeps until a result is ready, returns the type of the result's task.
    /// Otherwise returns std::nullopt.
    [[nodiscard]] std::optional<std::string> result_awaited_by(const worker& which) const;

private:
    [[nodiscard]] const worker* worker_that_runs_what(const worker& waiting) const noexcept;
    [[nodiscard]] unsigned circle_through(const worker& first) const noexcept;

    scheduler& pool_;
    mutable sys::slow_lock lock_; // this lock also protects worker::is_waiting_for_result
};

} // namespace ekiden::inline EKIDEN_ABI

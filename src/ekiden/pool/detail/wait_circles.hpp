/// Which workers wait for a task's result, and whether they do so in a circle.
///
/// Part: pool. Used by: worker (says when it waits), scheduler (owns it), crew (describes threads). Private.
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

    /// The worker sleeps until the result that it waits for is there. Reports a circle of such waits when
    /// this closes one, once: exact, since each of them stands still until its end_wait().
    void begin_wait(worker& self) noexcept;
    void end_wait(worker& self) noexcept;

    /// Any thread: the type of the task whose result the worker waits for, if it sleeps so.
    [[nodiscard]] std::optional<std::string> result_awaited_by(const worker& which) const;

private:
    [[nodiscard]] const worker* worker_that_runs_what(const worker& waiting) const noexcept;
    [[nodiscard]] unsigned circle_through(const worker& first) const noexcept;

    scheduler& pool_;
    mutable sys::slow_lock lock_; // and of worker::is_waiting_for_result
};

} // namespace ekiden::inline EKIDEN_ABI

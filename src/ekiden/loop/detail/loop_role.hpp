/// The role of a thread inside run() of a loop_context, and the arguments of that call.
///
/// Part: loop. Used by: solo_loop, and shared_loop. Private.
#pragma once

#include <ekiden/context/thread_context.hpp>
#include <ekiden/future/detail/completion.hpp>
#include <ekiden/loop/detail/loop_alarms.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/fork.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace ekiden::inline EKIDEN_ABI {

/// The arguments of a call of run() or poll(), or of one of their variants.
struct loop_request {
    static constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

    std::size_t most = all;                           ///< the maximum number of tasks to run
    bool waits = true;                                ///< true if run() waits for further tasks
    const sys::clock::time_point* deadline = nullptr; ///< null means no deadline

    /// Returns how many more tasks may run after `count` tasks have run.
    [[nodiscard]] std::size_t left(std::size_t count) const noexcept {
        return most == all ? all : most - count;
    }

    /// Returns the deadline. Returns time_point::max() if there is no deadline.
    [[nodiscard]] sys::clock::time_point until() const noexcept {
        return deadline != nullptr ? *deadline : sys::clock::time_point::max();
    }
    /// Returns the earlier of the deadline and the next alarm.
    [[nodiscard]] sys::clock::time_point until(const loop_alarms& alarms) const noexcept {
        return std::min(until(), alarms.next());
    }

    [[nodiscard]] bool is_over() const noexcept {
        return deadline != nullptr && sys::clock::now() >= *deadline;
    }
};

/// The role of a thread inside run() of a loop. A task that waits for a result blocks its thread, because no
/// other task of the loop runs inside a wait. If a task of another context has called run(), the role tells
/// this other context when the thread blocks.
class loop_role : public thread_role {
public:
    explicit loop_role(context_id context) noexcept
        : thread_role(context), around_(thread_record::here().role),
          outer_(static_cast<loop_role*>(role_scope::find(context))) {}

    bool wait_for(completion& awaited, const wait_limit* limit) noexcept override {
        const blocked_here waiting("a result");
        return awaited.block(limit);
    }
    [[nodiscard]] bool begin_blocking(const char* what) noexcept override {
        return around_ != nullptr && around_->begin_blocking(what);
    }
    void end_blocking() noexcept override { around_->end_blocking(); }

    /// If a task of the same context has called this run(), returns the role of this thread in the outer
    /// run(). Otherwise returns null.
    [[nodiscard]] loop_role* outer() const noexcept { return outer_; }

    // ---- for a loop that several threads run

    bool runs_task = false;           ///< true while this thread runs a task of the loop
    unsigned deferred = 0;            ///< number of tasks that this thread has posted without a wake-up
    task::function running = nullptr; ///< the type of the running task

private:
    thread_role* const around_;
    loop_role* const outer_;
};

/// Ends the program if the calling process is the child of a fork(), and the parent process has constructed
/// the loop. A loop calls this function after each task, because the task may have called fork(). The child
/// cannot use the loop, because the other threads of the loop do not exist in the child.
inline void expect_no_child(std::uint16_t generation) noexcept {
    sys::expects(generation == sys::fork_generation(),
                 "a task that called fork() has returned in the child, where its loop cannot go on; a child "
                 "of a task ends with exec or _exit");
}

} // namespace ekiden::inline EKIDEN_ABI

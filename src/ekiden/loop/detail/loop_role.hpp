/// What a thread is while it is in run() of a loop_context, and what it has been asked to do there.
///
/// Part: loop. Used by: solo_loop, shared_loop. Private.
#pragma once

#include <ekiden/context/thread_context.hpp>
#include <ekiden/future/detail/completion.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/fork.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace ekiden::inline EKIDEN_ABI {

/// What run() and its kin differ in.
struct loop_request {
    static constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

    std::size_t most = all;                           ///< tasks to run
    bool waits = true;                                ///< for tasks to come
    const sys::clock::time_point* deadline = nullptr; ///< null: none

    /// How many more there may be after `count`. An event source that may run all stays in its own loop.
    [[nodiscard]] std::size_t left(std::size_t count) const noexcept {
        return most == all ? all : most - count;
    }

    [[nodiscard]] bool is_over() const noexcept {
        return deadline != nullptr && sys::clock::now() >= *deadline;
    }
};

/// A loop's tasks are run by run() alone: a task that waits for a result blocks its thread. If the thread
/// works for another context too, around the loop, that is told.
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

    /// The role of this thread in a run() of the same context, of which a task has called this run(); or
    /// null.
    [[nodiscard]] loop_role* outer() const noexcept { return outer_; }

    // ---- in a loop that several threads run

    unsigned deferred = 0;            ///< tasks that the running task has posted without waking a thread
    task::function running = nullptr; ///< the type of the running task

private:
    thread_role* const around_;
    loop_role* const outer_;
};

/// After a task: it may have forked, and this may be the child, where the loop's other threads, and those
/// that post, do not exist.
inline void expect_no_child(std::uint16_t generation) noexcept {
    sys::expects(generation == sys::fork_generation(),
                 "a task that called fork() has returned in the child, where its loop cannot go on; a child "
                 "of a task ends with exec or _exit");
}

} // namespace ekiden::inline EKIDEN_ABI

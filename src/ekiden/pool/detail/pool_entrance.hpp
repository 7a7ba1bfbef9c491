/// The way of outside threads into a pool.
///
/// Part: pool. Used by: scheduler. Private.
#pragma once

#include <ekiden/context/thread_context.hpp>
#include <ekiden/execution/detail/post_scope.hpp>
#include <ekiden/pool/detail/post_count.hpp>
#include <ekiden/pool/detail/work_count.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// The bits of scheduler::gate(). The bits say which tasks the pool accepts, and whether tasks may begin. The
/// script gdb/ekiden-gdb.py uses the values of the first three bits.
namespace gate_bit {
inline constexpr std::uint32_t closed =
    1; ///< the pool refuses tasks from outside, after join() or stop() began
inline constexpr std::uint32_t stopped = 2;   ///< the pool abandons queued tasks, and its workers end
inline constexpr std::uint32_t paused = 4;    ///< the pool begins no tasks
inline constexpr std::uint32_t forked = 8;    ///< this process is the child of a fork() and has no workers
inline constexpr std::uint32_t stopping = 16; ///< the pool refuses all tasks, after stop() began
inline constexpr std::uint32_t refuses_all = stopping | stopped | forked;
inline constexpr std::uint32_t refuses_outside = closed | refuses_all; ///< except for outstanding work
} // namespace gate_bit

/// Counts the outstanding work of a pool, and the posts of outside threads that have several steps. The
/// thread that joins the pool waits for both. Thread-safe.
class pool_entrance final : public entrance {
public:
    explicit pool_entrance(const sys::atomic<std::uint32_t>& gate) noexcept : gate_(gate) {}

    [[nodiscard]] way enter(bool is_due) noexcept override {
        if ((gate_.load(sys::relaxed) & gate_bit::refuses_outside) == 0) {
            posts_.begun();
            // [PC1] seq_cst. Either this thread sees that the gate is closed, or the thread that closes the
            // gate waits for leave().
            if ((gate_.load(sys::seq_cst) & gate_bit::refuses_outside) == 0) return way::as_post;
            posts_.ended();
        }
        return enter_late(is_due) ? way::as_work : way::refused;
    }
    void leave(way entered) noexcept override {
        if (entered == way::as_post)
            posts_.ended();
        else
            leave_late();
    }

    /// Counts outstanding work that begins.
    void work_started() noexcept { work_.started(); }
    /// Counts outstanding work that has ended. The pool may be destroyed before the call returns.
    void work_finished() noexcept { work_.finished(); }

    /// Returns which bits of the gate refuse a task that the calling thread posts from outside.
    [[nodiscard]] std::uint32_t refusing_bits() const noexcept {
        return post_scope::is_in(*this) ? gate_bit::refuses_all : gate_bit::refuses_outside;
    }
    /// Called when the gate has refused a post. If join() waits for outstanding work, the post may belong to
    /// that work. Then the post counts as work, too, so that join() waits for it. Returns whether the post
    /// counts as work. If it does, the caller must call leave_late() after the post.
    [[nodiscard]] bool joins_outstanding_work() noexcept {
        posts_.begun(); // stop() does not wait for work, but the end of the pool waits for this post
        // [OW3] Acquire: sees that join() has gathered the count, and so sees the work of this thread in it.
        // Pairs with the release in scheduler::join(). If this thread does not see a stop(), the queue
        // refuses the task later.
        if ((gate_.load(sys::acquire) & gate_bit::refuses_all) == 0 && work_.started_beside_other())
            return true;
        posts_.ended();
        return false;
    }
    /// Ends a post that counts as work. The pool may be destroyed before the call returns.
    void leave_late() noexcept {
        work_.finished();
        posts_.ended();
    }

    /// Waits for the posts of other threads that have entered. If a function was accepted behind that of such
    /// a post, the function is in the pool afterwards. The calling thread may be in a post itself, because
    /// the destructor of an abandoned function may wait for the pool. Returns false if the limit is reached
    /// first.
    [[nodiscard]] bool await_posts(const wait_limit& limit) noexcept {
        return EKIDEN_MUTANT(pool_ends_beside_a_post) || posts_.await(post_scope::is_in(*this), limit);
    }

    // Only the thread that joins the pool calls the next functions.

    /// Adds up the outstanding work. Called before the gate is closed.
    void gather() noexcept { work_.gather(); }
    /// Waits until no work is outstanding and no post has entered. Returns false if the limit is reached
    /// first.
    [[nodiscard]] bool await_all(const wait_limit& limit) noexcept {
        return work_.wait(limit) && await_posts(limit);
    }
    /// Called when the pool has no task any more. Ends the entrance, if no outstanding work has begun since
    /// await_all() began. Returns whether the entrance has ended.
    [[nodiscard]] bool try_end() noexcept { return work_.try_end(); }
    /// Ends all waits for outstanding work.
    void give_up() noexcept { work_.give_up(); }

private:
    [[nodiscard]] bool enter_late(bool is_due) noexcept {
        if (!is_due) return joins_outstanding_work();
        posts_.begun();
        work_.started();
        return true;
    }

    const sys::atomic<std::uint32_t>& gate_;
    post_count posts_;
    work_count work_;
};

} // namespace ekiden::inline EKIDEN_ABI

/// Manages the life cycle of a result, independently of the type of the result. One producer claims the
/// result and completes it. Threads and continuations wait for the result.
///
/// Part: future. Used by: shared_state, pool.
#pragma once

#include <ekiden/queue/task.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/lock.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// The state that a promise or a queued task shares with its future. A task with a future is derived from
/// this class, so the task and the state need only one allocation. The release of the last reference frees
/// the task and the state.
///
/// The bits of status_:
///
/// * Bit 0, `claimed`: a thread sets the result, or has canceled the task. The bit is cleared by unclaim().
/// * Bit 1, `ready`: the result is set. The function complete() sets the bit.
/// * Bit 2, `sleeper`: threads sleep on status_. A thread sets the bit before it sleeps.
/// * Bit 3, `continued`: continuations are attached. The bit is set by attach() and cleared by detach().
/// * The bits from 4 to 31 count the references.
class completion : public task {
public:
    /// A function to call when the result is set. The continuation must exist until it has been called or
    /// detached. The call may destroy the continuation.
    class continuation {
    public:
        using function = void (*)(void* argument) noexcept;

        constexpr continuation() noexcept = default;
        continuation(function then, void* argument) noexcept : then_(then), argument_(argument) {}

        /// Sets the function of a continuation that is not attached.
        void set(function then, void* argument) noexcept {
            then_.write(then);
            argument_.write(argument);
        }

    private:
        friend class completion;

        sys::cell<function> then_{nullptr};
        sys::cell<void*> argument_{nullptr};
        sys::cell<continuation*> next_{nullptr}; // the continuation that was attached before this one
    };

    /// Tries to become the producer of the result. Returns true for one thread only. If claim() returns true,
    /// the thread must call complete() or unclaim(). Any thread may call claim().
    [[nodiscard]] bool claim() noexcept {
        // [CU1] Acquire: this thread sees what an earlier producer did to the object. Pairs with the release
        // in unclaim().
        return (status_.fetch_or(claimed, sys::acquire) & claimed) == 0;
    }

    /// Gives up the role of the producer, so that another thread can claim the result. Called by the producer
    /// instead of complete().
    void unclaim() noexcept;

    /// Announces that the result is set. Called by the producer. Also releases `references` references of the
    /// caller. The object may be destroyed when the call returns.
    void complete(std::uint32_t references) noexcept;

    [[nodiscard]] bool is_ready() const noexcept {
        return (status_.load(sys::acquire) & ready) != 0; // [CO1]
    }

    /// Returns true if this process is a forked child, and the task was queued or running in the parent
    /// process at the fork. The result then cannot arrive.
    [[nodiscard]] bool is_left_behind() const noexcept {
        return born_ != anywhere && born_ != sys::fork_generation() && !is_ready();
    }

    /// Waits until the result is set. If the thread has a thread_role, the role decides how the thread waits.
    /// So a worker of a pool runs other tasks meanwhile. Returns false at once if is_left_behind() is true.
    bool wait() noexcept { return wait_impl(nullptr); }

    /// Waits like wait(), but at most until `limit` is reached. If the limit can be reached, the thread runs
    /// no other tasks meanwhile. Returns whether the result is set.
    [[nodiscard]] bool wait(const wait_limit& limit) noexcept {
        return wait_impl(limit.is_endless() ? nullptr : &limit);
    }

    /// Waits like wait(), but runs no other task meanwhile. A thread that works for a context reports to the
    /// context that it blocks, and then sleeps.
    bool wait_asleep() noexcept;

    /// Spins for a short time, and then sleeps until the result is set or `limit` is reached. If `limit` is
    /// null, there is no limit. Does not call the thread_role of the thread. Returns whether the result is
    /// set.
    bool block(const wait_limit* limit) noexcept;
    /// Sleeps until the result is set, without spinning first.
    void sleep() noexcept { (void)sleep_until(nullptr); }

    /// Arranges that complete() calls `added`. If the result is set already, returns false, and `added` is
    /// not called. Any thread may attach a continuation, and a result may have any number of continuations.
    /// The caller must keep a reference to this object until the continuation has been called or detached.
    /// The newest continuation is called first.
    [[nodiscard]] bool attach(continuation& added) noexcept;

    /// Removes an attached continuation. Returns false if the continuation has been called or will be called.
    /// The function guarantees no memory ordering.
    [[nodiscard]] bool detach(continuation& attached) noexcept;

    /// Adds a reference. The caller must already hold a reference. Aborts the program if there are 2^27
    /// references then. The other half of the numbers is left for threads that call retain() meanwhile.
    void retain() noexcept {
        const std::uint32_t now = status_.fetch_add(reference, sys::relaxed) + reference;
        // The sign is a flag of the addition, so this check needs no other instruction than a branch.
        sys::expects(static_cast<std::int32_t>(now) >= 0, "shared_future: 2^27 references to one result");
    }

    /// Adds a reference and returns true. Returns false if the last reference has been released. The caller
    /// needs no reference, but must ensure that the memory is not freed.
    [[nodiscard]] bool retain_unless_ended() noexcept;

    /// Releases a reference. The object may be destroyed when the call returns.
    void release() noexcept;

    /// The value of `born` for a result that can be set in any process.
    static constexpr std::uint16_t anywhere = 0xffff;

protected:
    /// `born` is the fork generation in which a task of a pool produces the result.
    completion(function answer, std::uint32_t references, std::uint16_t born = anywhere) noexcept
        : task(answer), status_(references * reference), born_(born) {}
    ~completion() = default;

private:
    static constexpr std::uint32_t claimed = 1;
    static constexpr std::uint32_t ready = 2;
    static constexpr std::uint32_t sleeper = 4;
    static constexpr std::uint32_t continued = 8;
    static constexpr std::uint32_t reference = 16;

    bool wait_impl(const wait_limit* limit) noexcept;
    bool sleep_until(const sys::clock::time_point* deadline) noexcept;
    bool sleep_unless_stopped(const wait_limit& limit) noexcept;
    void call_continuations() noexcept;

    sys::atomic<std::uint32_t> status_;
    sys::slow_lock lock_;                             // guards continuations_
    sys::cell<continuation*> continuations_{nullptr}; // under lock_

    // born_ and outcome_ fit into padding, so they do not enlarge the object.
    const std::uint16_t born_;

protected:
    // The kind of the result. The producer writes outcome_ before it calls complete().
    enum class outcome : std::uint8_t { none, value, exception, canceled, broken_promise };
    outcome outcome_ = outcome::none;
};

} // namespace ekiden::inline EKIDEN_ABI

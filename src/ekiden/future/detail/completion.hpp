/// The life cycle of a result without its type. It is claimed once and completed once. Threads and
/// continuations wait for it.
///
/// Part: future. Used by: shared_state, and through it promise, future and the pool. Workers of a pool run
/// other tasks while they wait for it.
#pragma once

#include <ekiden/queue/task.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/lock.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// The state that a promise or a queued task shares with its future. It is a part of the task, so both need
/// one allocation. The last reference frees it.
///
/// bits of status_   meaning                                                set by           cleared by
/// 0 claimed         a thread produces the result, or has canceled it      claim            unclaim
/// 1 ready           the result is set                                      complete         -
/// 2 sleeper         threads sleep on this word                             sleep            -
/// 3 continued       there are continuations to call                        attach           detach
/// 4..31             number of references                                   retain           release
class completion : public task {
public:
    /// A function to call when the result is set. The object must exist until it has been called or detached.
    /// The call may destroy it.
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
        sys::cell<continuation*> next_{nullptr}; // attached before this one
    };

    /// Tries to become the producer of the result. Returns true to one thread, which must call complete() or
    /// unclaim(). Any thread may call it.
    [[nodiscard]] bool claim() noexcept {
        // [CU1] Acquire: what an earlier producer did to the object. Pairs with the release in unclaim().
        return (status_.fetch_or(claimed, sys::acquire) & claimed) == 0;
    }

    /// Lets another thread claim. Called by the producer instead of complete().
    void unclaim() noexcept;

    /// Announces that the result is set. Called by the producer. Releases `references` references of the
    /// caller. Afterwards the object may have been destroyed.
    void complete(std::uint32_t references) noexcept;

    [[nodiscard]] bool is_ready() const noexcept {
        return (status_.load(sys::acquire) & ready) != 0; // [CO1]
    }

    /// Returns whether this process is a forked child, and the task was queued or ran in the parent. Then the
    /// result cannot arrive.
    [[nodiscard]] bool is_left_behind() const noexcept {
        return born_ != anywhere && born_ != sys::fork_generation() && !is_ready();
    }

    /// Waits until the result is set. If the thread has a role, the role waits. So a worker of a pool runs
    /// other tasks meanwhile. Returns false at once if is_left_behind().
    bool wait() noexcept { return wait_impl(nullptr); }

    /// Waits like wait(), but at most until `limit` is reached. Runs no other tasks meanwhile if the limit
    /// can be reached. Returns whether the result is set.
    [[nodiscard]] bool wait(const wait_limit& limit) noexcept {
        return wait_impl(limit.is_endless() ? nullptr : &limit);
    }

    /// Waits like wait(), but runs nothing meanwhile. A thread that works for a context reports that it
    /// blocks, and sleeps.
    bool wait_asleep() noexcept;

    /// Spins for a short time, and then sleeps until the result is set or `limit` is reached. A null `limit`
    /// is never reached. Does not use or inform the thread's role. Returns whether the result is set.
    bool block(const wait_limit* limit) noexcept;
    /// Sleeps until the result is set, without spinning first.
    void sleep() noexcept { (void)sleep_until(nullptr); }

    /// Arranges that complete() calls `added`. Returns false if the result is set already; then nothing is
    /// called. Any thread may call it, for any number of continuations. The caller must keep a reference
    /// until the continuation has been called or detached. Continuations are called newest first.
    [[nodiscard]] bool attach(continuation& added) noexcept;

    /// Removes an attached continuation. Returns false if it has been called, or will be. Orders nothing.
    [[nodiscard]] bool detach(continuation& attached) noexcept;

    /// Adds a reference. The caller must have one.
    void retain() noexcept { status_.fetch_add(reference, sys::relaxed); }

    /// Adds a reference, unless the last one has been released. Then returns false. The caller needs no
    /// reference, but must keep the memory.
    [[nodiscard]] bool retain_unless_ended() noexcept;

    /// Releases a reference. Afterwards the object may have been destroyed.
    void release() noexcept;

    /// The value of `born` for a result that does not depend on the process.
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
    sys::slow_lock lock_;                             // for attach, detach, and the removal of the list
    sys::cell<continuation*> continuations_{nullptr}; // under lock_

    // Both lie in the padding before the next pointer.
    const std::uint16_t born_;

protected:
    // The kind of the result. Written before complete().
    enum class outcome : std::uint8_t { none, value, exception, canceled, broken_promise };
    outcome outcome_ = outcome::none;
};

} // namespace ekiden::inline EKIDEN_ABI

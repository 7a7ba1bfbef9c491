/// The life of a result without its type: claimed once, completed once, awaited by threads and by
/// continuations.
///
/// Part: future. Used by: shared_state (and through it promise, future, the pool), and by the pool's workers,
/// which run other tasks while they wait.
#pragma once

#include <ekiden/queue/task.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/lock.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// The state that a promise or a queued task shares with its future. It lies in the task itself, so that both
/// are one allocation. The last of the references frees it.
///
/// bits of status_   meaning                                                set by           cleared by
/// 0 claimed         somebody produces the result, or has canceled it      claim            unclaim
/// 1 ready           the result is there                                    complete         -
/// 2 sleeper         threads sleep on this word                             sleep            -
/// 3 continued       there are continuations to call                        attach           detach, the last
/// 4..31             number of references                                   -                -
class completion : public task {
public:
    /// What is to be called when the result is there. It lies with those who attach it, until it has been
    /// called or detached; the call may end it.
    class continuation {
    public:
        using function = void (*)(void* argument) noexcept;

        constexpr continuation() noexcept = default;
        continuation(function then, void* argument) noexcept : then_(then), argument_(argument) {}

    private:
        friend class completion;

        sys::cell<function> then_{nullptr};
        sys::cell<void*> argument_{nullptr};
        sys::cell<continuation*> next_{nullptr}; // the one attached before it
    };

    /// Any thread, once wins: the right and the duty to complete() or to unclaim().
    [[nodiscard]] bool claim() noexcept {
        // [CU1] acquire: what an attempt that was given up has left behind; pairs with the release in
        // unclaim().
        return (status_.fetch_or(claimed, sys::acquire) & claimed) == 0;
    }

    /// By the thread that claimed, instead of complete(): another one may claim.
    void unclaim() noexcept;

    /// By the thread that claimed: the result is there. Gives up `references` of the caller; the object may
    /// be gone afterwards.
    void complete(std::uint32_t references) noexcept;

    [[nodiscard]] bool is_ready() const noexcept {
        return (status_.load(sys::acquire) & ready) != 0; // [CO1]
    }

    /// Whether this process was forked from the one in which the task was queued or ran: it will not end
    /// here.
    [[nodiscard]] bool is_left_behind() const noexcept {
        return born_ != anywhere && born_ != sys::fork_generation() && !is_ready();
    }

    /// Waits until the result is there. If the thread has a role, the role waits: a worker of a pool runs
    /// other tasks meanwhile. Returns false at once if it is_left_behind().
    bool wait() noexcept { return wait_impl(nullptr); }

    /// Waits like wait(), but at most until `limit` is reached. Runs no other tasks meanwhile if the limit
    /// can be reached. Returns whether the result is there.
    [[nodiscard]] bool wait(const wait_limit& limit) noexcept {
        return wait_impl(limit.is_endless() ? nullptr : &limit);
    }

    /// Waits like wait(), but runs nothing meanwhile: a thread that works for a context says that it blocks,
    /// and sleeps.
    bool wait_asleep() noexcept;

    /// Spins for a short time and then sleeps until the result is there, or until `limit`, if it is not null,
    /// is reached. Does not ask the thread's role, and does not tell it either. Returns whether the result is
    /// there.
    bool block(const wait_limit* limit) noexcept;
    /// Sleeps until the result is there, without spinning first.
    void sleep() noexcept { (void)sleep_until(nullptr); }

    /// Has `added` called when the result is there, by the thread that completes. False
    /// if it is there already: then nothing is called. Any number of continuations, from any threads; each
    /// of those who attach keeps a reference until its own is called or detached. They are called newest
    /// first.
    [[nodiscard]] bool attach(continuation& added) noexcept;

    /// Takes an attached continuation back. False if it has been called, or will be. Orders nothing.
    [[nodiscard]] bool detach(continuation& attached) noexcept;

    /// One more reference, from somebody who has one.
    void retain() noexcept { status_.fetch_add(reference, sys::relaxed); }

    /// One more reference, from somebody who has none but keeps the memory, unless the last one has been
    /// given up: then false.
    [[nodiscard]] bool retain_unless_ended() noexcept;

    /// One reference less; the object may be gone afterwards.
    void release() noexcept;

    /// For `born`: not bound to a process.
    static constexpr std::uint16_t anywhere = 0xffff;

protected:
    /// `born`: the generation of forks in which a pool's task produces the result.
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
    sys::slow_lock lock_;                             // of attach, detach and the taking of the list
    sys::cell<continuation*> continuations_{nullptr}; // under lock_

    // In the padding before the next pointer, as is the outcome.
    const std::uint16_t born_;

protected:
    // What the result is. Written before complete().
    enum class outcome : std::uint8_t { none, value, exception, canceled, broken_promise };
    outcome outcome_ = outcome::none;
};

} // namespace ekiden::inline EKIDEN_ABI

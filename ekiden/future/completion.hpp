/// The life of a result without its type: claimed once, completed once, awaited by a thread or by a
/// continuation.
///
/// Part: future. Used by: shared_state (and through it promise, future, the pool), and by the pool's workers,
/// which run other tasks while they wait.
#pragma once

#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// The state that a promise or a queued task shares with its future. It lies in the task itself, so that both
/// are one allocation. The last of the references frees it.
///
/// bits of status_   meaning                                                set by           cleared by
/// 0 claimed         somebody produces the result, or has cancelled it      claim            -
/// 1 ready           the result is there                                    complete         -
/// 2 sleeper         a thread sleeps on this word                           wait             -
/// 3 continuation    call then_(argument_) when ready                       attach           detach
/// 4..31             number of references                                   -                -
class completion : public task {
public:
    using continuation = void (*)(void* argument) noexcept;

    /// Any thread, once wins: the right and the duty to complete().
    [[nodiscard]] bool claim() noexcept {
        // relaxed: who wins touches only what the queue or the future handed over with an ordering of its
        // own.
        return (status_.fetch_or(claimed, sys::relaxed) & claimed) == 0;
    }

    /// Who claimed: the result is there. Gives up `references` of the caller; the object may be gone
    /// afterwards.
    void complete(std::uint32_t references) noexcept;

    [[nodiscard]] bool is_ready() const noexcept {
        return (status_.load(sys::acquire) & ready) != 0; // [F1]
    }

    /// Returns when the result is there. In the way of the thread's role, if it has one: a worker of a pool
    /// runs other tasks meanwhile.
    void wait() noexcept { (void)wait_impl(nullptr); }

    /// As wait(), until `deadline`. False if the deadline came first.
    [[nodiscard]] bool wait_until(sys::clock::time_point deadline) noexcept { return wait_impl(&deadline); }

    /// As wait() and wait_until() (`deadline` not null), without a look at the thread's role.
    bool block(const sys::clock::time_point* deadline) noexcept;

    /// Has `then(argument)` called when the result is there, by the thread that completes. False if it is
    /// there already: then nothing is called. One continuation at a time; who attaches keeps a reference
    /// until it is called or detached.
    [[nodiscard]] bool attach(continuation then, void* argument) noexcept;

    /// Takes the continuation back. False if it has been called, or is being called. Orders nothing.
    [[nodiscard]] bool detach() noexcept;

    /// One more reference, from somebody who has one.
    void retain() noexcept { status_.fetch_add(reference, sys::relaxed); }

    /// One more reference, from somebody who has none but keeps the memory, unless the last one has been
    /// given up: then false.
    [[nodiscard]] bool retain_unless_ended() noexcept;

    /// One reference less; the object may be gone afterwards.
    void release() noexcept;

protected:
    completion(function answer, std::uint32_t references) noexcept
        : task(answer), status_(references * reference) {}
    ~completion() = default;

private:
    static constexpr std::uint32_t claimed = 1;
    static constexpr std::uint32_t ready = 2;
    static constexpr std::uint32_t sleeper = 4;
    static constexpr std::uint32_t continued = 8;
    static constexpr std::uint32_t reference = 16;

    bool wait_impl(const sys::clock::time_point* deadline) noexcept;

    sys::atomic<std::uint32_t> status_;

protected:
    // In the padding before the next pointer: what the result is. Written before complete().
    enum class outcome : std::uint8_t { none, value, exception, cancelled, broken_promise };
    outcome outcome_ = outcome::none;

private:
    sys::cell<continuation> then_{nullptr};
    sys::cell<void*> argument_{nullptr};
};

} // namespace ekiden::inline EKIDEN_ABI

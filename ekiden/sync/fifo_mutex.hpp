/// A mutex that is taken exactly in the order of the calls to lock.
///
/// Part: sync. Used by: users whose requests are processed in order of arrival. A state_lock with strict
/// hand-over. The order costs a context switch per hand-over: with short sections and many threads it is far
/// slower than `mutex` (a lock convoy).
#pragma once

#include <ekiden/sync/state_lock.hpp>
#include <ekiden/sys/lock_annotation.hpp>

#include <cstddef>

namespace ekiden::inline EKIDEN_ABI {

/// Meets TimedMutex. A call's place in the order is fixed by the one atomic step in which it either takes the
/// mutex or joins the queue. A call that gives up leaves the queue; the order of the others stays.
class fifo_mutex {
public:
    fifo_mutex() noexcept : lock_({}, in_order) {}

    void lock() noexcept {
        lock_.enter_only();
        note_.taken(sys::hold::alone);
    }
    [[nodiscard]] bool try_lock() noexcept {
        return sys::taken_if(lock_.try_enter(1), note_, sys::hold::alone_tried);
    }
    void unlock() noexcept {
        note_.released(sys::hold::alone);
        lock_.exit(0);
    }

    /// As lock, and returns this call's arrival number, counted modulo `numbers` over the calls of
    /// lock_numbered. Taken in the same atomic step: successive owners have successive numbers.
    std::uint32_t lock_numbered() noexcept {
        const std::uint32_t number = lock_.enter_numbered(1);
        note_.taken(sys::hold::alone);
        return number;
    }
    static constexpr std::uint32_t numbers = state_lock::max_payload + 1;

    /// False if the time passed first.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& duration) {
        return sys::taken_if(lock_.enter(1, wait_limit::after(duration)), note_, sys::hold::alone_tried);
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return sys::taken_if(lock_.enter(1, wait_limit::until(deadline)), note_, sys::hold::alone_tried);
    }
    /// False if a stop was requested first.
    [[nodiscard]] bool lock(std::stop_token stop) {
        return sys::taken_if(lock_.enter(1, wait_limit(std::move(stop))), note_, sys::hold::alone_tried);
    }

    /// The longest queue that an unlock has found so far. Any thread.
    [[nodiscard]] std::size_t longest_queue() const noexcept { return lock_.longest_queue(); }

    /// The lock inside, for waits that are not a thread's: start() with mask 1 and no transition.
    [[nodiscard]] state_lock& core() noexcept { return lock_; }

private:
    static constexpr state_rules in_order{.hand_over_after = std::chrono::nanoseconds(0),
                                          .counts_arrivals = true};

    state_lock lock_;
    [[no_unique_address]] sys::lock_annotation note_;
};

} // namespace ekiden::inline EKIDEN_ABI

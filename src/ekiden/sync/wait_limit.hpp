/// The limit of a wait: a deadline, a stop request, or both, whichever comes first.
///
/// Part: sync. Used by: programs, all parts that wait.
#pragma once

#include <ekiden/context/simulated.hpp>
#include <ekiden/sys/clock.hpp>

#include <chrono>
#include <stop_token>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The limit of a wait. A limit has a deadline, a stop token, both, or neither.
///
/// A limit is a value type. A copy of a limit has a copy of the limit's stop token. A stop token converts to
/// a limit, so a function that has a limit as a parameter also accepts a stop token.
///
/// Thread safety: const functions may be called concurrently. If a thread writes a limit, no other thread may
/// access this limit at the same time.
class wait_limit {
public:
    /// Constructs a limit that is never reached.
    constexpr wait_limit() noexcept = default;

    /// Constructs a limit that is reached when a stop is requested.
    wait_limit(std::stop_token stop) noexcept : stop_(std::move(stop)) {}

    /// Returns a limit that is reached `duration` from now. If the duration is 0 or less, the limit is
    /// reached at once. A duration beyond the range of the clock is treated as 146 years.
    template <class Rep, class Period>
    [[nodiscard]] static wait_limit after(const std::chrono::duration<Rep, Period>& duration) {
        return until(now_here<sys::clock>() + sys::bounded(duration));
    }

    /// Returns a limit that is reached at `deadline`, on the clock of the deadline. If the deadline is not on
    /// the clock of the library, a waiting thread reads the deadline's clock each time that a sleep of the
    /// thread ends.
    template <class Clock, class Duration>
    [[nodiscard]] static wait_limit until(const std::chrono::time_point<Clock, Duration>& deadline) {
        wait_limit limit;
        limit.timed_ = true;
        if constexpr (sys::is_own_clock<Clock>) {
            limit.deadline_ = ekiden::deadline_here(deadline).time_since_epoch();
        } else {
            constexpr sys::clock::duration most = sys::clock::duration::max() - std::chrono::seconds(1);
            limit.deadline_ = sys::bounded(deadline.time_since_epoch(), most);
            limit.left_ = [](sys::clock::duration since_epoch) noexcept {
                return ekiden::time_left_here(
                    std::chrono::time_point<Clock, sys::clock::duration>(since_epoch));
            };
        }
        return limit;
    }

    /// Returns a limit with the deadline of this limit and the stop token `stop`.
    [[nodiscard]] wait_limit with(std::stop_token stop) const {
        wait_limit both = *this;
        both.stop_ = std::move(stop);
        return both;
    }

    /// Returns whether the limit can never be reached.
    [[nodiscard]] bool is_endless() const noexcept { return !timed_ && !stop_.stop_possible(); }
    /// Returns whether the limit has a deadline.
    [[nodiscard]] bool is_timed() const noexcept { return timed_; }
    /// Returns the time at which a waiting thread must check the limit again. The limit must have a deadline.
    /// If the deadline is on another clock, the returned time is an estimate.
    [[nodiscard]] sys::clock::time_point deadline() const noexcept {
        return left_ == nullptr ? sys::clock::time_point(deadline_)
                                : now_here<sys::clock>() + left_(deadline_);
    }
    /// Returns the stop token of the limit. The token has no stop state if the limit was made without a
    /// token.
    [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }

    /// Returns true if a stop was requested, or if the deadline has passed.
    [[nodiscard]] bool is_reached() const noexcept {
        if (stop_.stop_requested()) return true;
        if (!timed_) return false;
        return left_ == nullptr ? now_here<sys::clock>().time_since_epoch() >= deadline_
                                : left_(deadline_) <= sys::clock::duration::zero();
    }

private:
    sys::clock::duration deadline_{}; // the time since the epoch of the deadline's clock

    // A function that returns the time left until a deadline on another clock. The pointer is null for a
    // deadline on the library's clock.
    sys::clock::duration (*left_)(sys::clock::duration) noexcept = nullptr;
    std::stop_token stop_;
    bool timed_ = false;
};

/// The parameter type of functions whose names end in `_for`. A wait_duration is a limit that is reached when
/// the given duration has elapsed. See wait_limit::after().
class wait_duration : public wait_limit {
public:
    template <class Rep, class Period>
    wait_duration(const std::chrono::duration<Rep, Period>& from_now) : wait_limit(after(from_now)) {}
};

/// The parameter type of functions whose names end in `_until`. A wait_deadline is a limit that is reached at
/// the given time point. See wait_limit::until().
class wait_deadline : public wait_limit {
public:
    template <class Clock, class Duration>
    wait_deadline(const std::chrono::time_point<Clock, Duration>& time) : wait_limit(until(time)) {}
};

} // namespace ekiden::inline EKIDEN_ABI

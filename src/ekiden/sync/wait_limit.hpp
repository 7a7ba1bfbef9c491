/// The limit at which a wait gives up: a deadline, a stop request, either, or never.
///
/// Part: sync. Used by: programs, for every waiting call of this part.
#pragma once

#include <ekiden/context/simulated.hpp>
#include <ekiden/sys/clock.hpp>

#include <chrono>
#include <stop_token>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The limit of a wait: a deadline, a stop request, both, or neither.
///
/// A limit is a value. Copies share the stop state of its token. A stop token converts to a limit, so a
/// function with a limit accepts a stop token, too.
///
/// Thread safety: like an int.
class wait_limit {
public:
    /// Constructs a limit that is never reached.
    constexpr wait_limit() noexcept = default;

    /// Constructs a limit that is reached at a stop request.
    wait_limit(std::stop_token stop) noexcept : stop_(std::move(stop)) {}

    /// Returns a limit that is reached `duration` from now, or at once for durations <= 0. Durations beyond
    /// the clock's range are cut to 146 years.
    template <class Rep, class Period>
    [[nodiscard]] static wait_limit after(const std::chrono::duration<Rep, Period>& duration) {
        return until(now_here<sys::clock>() + sys::bounded(duration));
    }

    /// Returns a limit that is reached at `deadline`, by the deadline's own clock. If that is not the
    /// library's clock, a waiting thread reads it each time that a sleep ends.
    template <class Clock, class Duration>
    [[nodiscard]] static wait_limit until(const std::chrono::time_point<Clock, Duration>& deadline) {
        wait_limit limit;
        limit.timed_ = true;
        if constexpr (sys::is_own_clock<Clock>) {
            limit.deadline_ = deadline_here(deadline).time_since_epoch();
        } else {
            constexpr sys::clock::duration most = sys::clock::duration::max() - std::chrono::seconds(1);
            limit.deadline_ = sys::bounded(deadline.time_since_epoch(), most);
            limit.left_ = [](sys::clock::duration since_epoch) noexcept {
                return time_left_here(std::chrono::time_point<Clock, sys::clock::duration>(since_epoch));
            };
        }
        return limit;
    }

    /// Returns a limit with the deadline of this one that is also reached at a stop request.
    [[nodiscard]] wait_limit with(std::stop_token stop) const {
        wait_limit both = *this;
        both.stop_ = std::move(stop);
        return both;
    }

    /// Returns whether the limit can never be reached.
    [[nodiscard]] bool is_endless() const noexcept { return !timed_ && !stop_.stop_possible(); }
    /// Returns whether the limit has a deadline.
    [[nodiscard]] bool is_timed() const noexcept { return timed_; }
    /// Returns the time at which a sleep has to end so that the limit is checked again. The limit must be
    /// timed. For a deadline of another clock, this is an estimate.
    [[nodiscard]] sys::clock::time_point deadline() const noexcept {
        return left_ == nullptr ? sys::clock::time_point(deadline_)
                                : now_here<sys::clock>() + left_(deadline_);
    }
    /// Returns the stop token. It has no stop state if the limit has none.
    [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }

    /// Returns whether the limit is reached: a stop was requested, or the deadline has passed.
    [[nodiscard]] bool is_reached() const noexcept {
        if (stop_.stop_requested()) return true;
        if (!timed_) return false;
        return left_ == nullptr ? now_here<sys::clock>().time_since_epoch() >= deadline_
                                : left_(deadline_) <= sys::clock::duration::zero();
    }

private:
    sys::clock::duration deadline_{}; // since the epoch of its clock
    // Returns the time left until the deadline of another clock. Null for the library's clock.
    sys::clock::duration (*left_)(sys::clock::duration) noexcept = nullptr;
    std::stop_token stop_;
    bool timed_ = false;
};

/// The parameter of the `_for` forms: a limit that is reached a duration after the call. See
/// wait_limit::after().
class wait_duration : public wait_limit {
public:
    template <class Rep, class Period>
    wait_duration(const std::chrono::duration<Rep, Period>& from_now) : wait_limit(after(from_now)) {}
};

/// The parameter of the `_until` forms: a limit that is reached at a time point. See wait_limit::until().
class wait_deadline : public wait_limit {
public:
    template <class Clock, class Duration>
    wait_deadline(const std::chrono::time_point<Clock, Duration>& time) : wait_limit(until(time)) {}
};

} // namespace ekiden::inline EKIDEN_ABI

/// When a wait gives up: at a deadline, at a stop request, at either, or never.
///
/// Part: sync. Used by: programs, for every waiting call of this part.
#pragma once

#include <ekiden/context/simulated.hpp>
#include <ekiden/sys/clock.hpp>

#include <chrono>
#include <stop_token>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A value: cheap to copy, except that it shares the stop state of its token.
class wait_limit {
public:
    /// Never gives up.
    constexpr wait_limit() = default;

    /// Gives up at a stop request.
    explicit wait_limit(std::stop_token stop) noexcept : stop_(std::move(stop)) {}

    /// Gives up `duration` from now; at once for durations <= 0. Durations beyond the clock's range are cut
    /// to 146 years.
    template <class Rep, class Period>
    [[nodiscard]] static wait_limit after(const std::chrono::duration<Rep, Period>& duration) {
        return until(now_here<sys::clock>() + sys::bounded(duration));
    }

    /// Gives up at `deadline`, as its own clock tells: if that is not the library's, it is asked again each
    /// time that a sleep ends.
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

    /// This limit, and a stop request too.
    [[nodiscard]] wait_limit with(std::stop_token stop) const {
        wait_limit both = *this;
        both.stop_ = std::move(stop);
        return both;
    }

    /// Whether it never gives up.
    [[nodiscard]] bool endless() const noexcept { return !timed_ && !stop_.stop_possible(); }
    /// Whether it has a deadline.
    [[nodiscard]] bool timed() const noexcept { return timed_; }
    /// For timed limits: when to look again whether the limit is reached. Of a deadline of another clock,
    /// when that comes at the library's pace.
    [[nodiscard]] sys::clock::time_point deadline() const noexcept {
        return left_ == nullptr ? sys::clock::time_point(deadline_)
                                : now_here<sys::clock>() + left_(deadline_);
    }
    /// The stop token; one without a state if there is none.
    [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }

    /// True when a wait should give up now.
    [[nodiscard]] bool reached() const noexcept {
        if (stop_.stop_requested()) return true;
        if (!timed_) return false;
        return left_ == nullptr ? now_here<sys::clock>().time_since_epoch() >= deadline_
                                : left_(deadline_) <= sys::clock::duration::zero();
    }

private:
    sys::clock::duration deadline_{}; // since the epoch of its clock
    // The time left until the deadline of another clock; null for the library's.
    sys::clock::duration (*left_)(sys::clock::duration) noexcept = nullptr;
    std::stop_token stop_;
    bool timed_ = false;
};

} // namespace ekiden::inline EKIDEN_ABI

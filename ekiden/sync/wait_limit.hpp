/// When a wait gives up: at a deadline, at a stop request, at either, or never.
///
/// Part: sync. Used by: every waiting call of this part.
#pragma once

#include <ekiden/sys/clock.hpp>

#include <chrono>
#include <stop_token>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A value: cheap to copy, except that it shares the stop state of its token.
class wait_limit {
public:
    /// Never gives up.
    wait_limit() = default;

    /// Gives up at a stop request.
    explicit wait_limit(std::stop_token stop) noexcept : stop_(std::move(stop)) {}

    /// Gives up `duration` from now; at once for durations <= 0, never for those beyond the clock's range.
    template <class Rep, class Period>
    [[nodiscard]] static wait_limit after(const std::chrono::duration<Rep, Period>& duration) {
        using std::chrono::duration_cast;
        wait_limit limit;
        const sys::clock::time_point now = sys::clock::now();
        // Compared as floating point, because a duration's own arithmetic may overflow.
        using seconds = std::chrono::duration<double>;
        if (seconds(duration) >= seconds(sys::clock::time_point::max() - now) - seconds(1)) return limit;
        limit.timed_ = true;
        limit.deadline_ = now;
        if (duration > duration.zero()) limit.deadline_ += std::chrono::ceil<sys::clock::duration>(duration);
        return limit;
    }

    /// Gives up at `deadline`. Of a clock other than the library's, the time that is left is taken once, now.
    template <class Clock, class Duration>
    [[nodiscard]] static wait_limit until(const std::chrono::time_point<Clock, Duration>& deadline) {
        if constexpr (std::is_same_v<Clock, sys::clock>) {
            wait_limit limit;
            limit.timed_ = true;
            limit.deadline_ = std::chrono::ceil<sys::clock::duration>(deadline);
            return limit;
        } else {
            return after(deadline - Clock::now());
        }
    }

    /// This limit, and a stop request too.
    [[nodiscard]] wait_limit with(std::stop_token stop) const {
        wait_limit both = *this;
        both.stop_ = std::move(stop);
        return both;
    }

    [[nodiscard]] bool endless() const noexcept { return !timed_ && !stop_.stop_possible(); }
    [[nodiscard]] bool timed() const noexcept { return timed_; }
    [[nodiscard]] sys::clock::time_point deadline() const noexcept { return deadline_; }
    [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }

    /// True when a wait should give up now.
    [[nodiscard]] bool reached() const noexcept {
        return stop_.stop_requested() || (timed_ && sys::clock::now() >= deadline_);
    }

private:
    sys::clock::time_point deadline_{};
    std::stop_token stop_;
    bool timed_ = false;
};

} // namespace ekiden::inline EKIDEN_ABI

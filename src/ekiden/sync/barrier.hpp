/// A reusable barrier, at which no thread continues before all threads have arrived.
///
/// Part: sync. Used by: users. The design follows the two-state barrier of Ohki and Kuno, whose states change
/// their meaning from round to round. An ekiden barrier needs only one lock, and not two. The lock stores the
/// number of missing arrivals as its payload. So an arrival is one atomic step. With fewer than 8 processors,
/// one system call releases all waiting threads. With more, threads that were woken wake others. If the
/// barrier has a completion function, or if the payload cannot hold the number of missing arrivals, a member
/// stores this number instead. The lock guards this member.
#pragma once

#include <ekiden/sync/detail/state_lock.hpp>
#include <ekiden/sys/contract.hpp>

#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The default completion function of a barrier, which does nothing.
struct no_completion {
    void operator()() const noexcept {}
};

/// The way in which a thread waits at a barrier.
enum class barrier_wait : std::uint8_t {
    /// The thread yields the processor a few times before it sleeps. If a yield takes long, the thread does
    /// not yield again, and sleeps.
    yields_first,
    /// The thread sleeps at once. Use `parks` if the threads arrive far apart in time.
    parks
};

/// A point that no participant passes before all participants have arrived. A barrier is reusable: when a
/// round is complete, the next one begins.
///
/// A barrier has the operations of std::barrier.
///
/// Thread safety: all members may be called concurrently. Destroy the barrier only after all waits have
/// returned.
/// Ordering: every arrival of a round happens before the completion function of the round. The completion
/// function happens before the return of the waits for this round.
/// Initialization: constant.
template <class Completion = no_completion>
class barrier {
    static_assert(
        std::is_nothrow_invocable_v<Completion&>,
        "barrier: the completion function must be callable without arguments and noexcept: it runs in the "
        "thread that comes last, while all others wait");

public:
    /// A token that identifies a round. The function arrive() returns a token. A token for a
    /// round is valid until the next round is complete.
    class arrival_token {
        friend class barrier;
        explicit arrival_token(std::uint32_t round) noexcept : round_(round) {}
        std::uint32_t round_;
    };

    /// Returns the largest number of participants.
    [[nodiscard]] static constexpr std::ptrdiff_t max() noexcept {
        return std::numeric_limits<std::ptrdiff_t>::max();
    }

    /// Constructs a barrier at which `expected` arrivals complete a round. Throws std::invalid_argument if
    /// `expected` is negative.
    constexpr explicit barrier(std::ptrdiff_t expected, Completion completion = Completion(),
                               barrier_wait how = barrier_wait::yields_first)
        : lock_(state_value{0, in_word(checked(expected)) ? static_cast<std::uint32_t>(expected) : 0},
                how == barrier_wait::parks ? parking : yielding),
          expected_(expected), missing_(expected), in_word_(in_word(expected)),
          completion_(std::move(completion)) {}

    /// Counts `count` arrivals and returns a token for the round. `count` must be at least 1, and at most the
    /// number of missing arrivals. The last arrival of a round runs the completion function and starts the
    /// next round. The completion function runs in a thread that arrives at the barrier.
    [[nodiscard]] arrival_token arrive(std::ptrdiff_t count = 1) {
        std::uint32_t round = 0;
        if (in_word_) {
            const auto count_down = [&](state_value now) noexcept {
                round = now.state;
                const std::ptrdiff_t left = after_arrival(static_cast<std::ptrdiff_t>(now.payload), count);
                if (left > 0) return state_value{now.state, static_cast<std::uint32_t>(left)};
                // [BA1] Relaxed is enough, because every arrive_and_drop() of the round happens before this
                // last arrival.
                return state_value{1 - now.state, static_cast<std::uint32_t>(expected_.load(sys::relaxed))};
            };
            lock_.apply(both, count_down, conduct::completes_together);
        } else {
            lock_.run(both, [&](state_value now) noexcept {
                round = now.state;
                missing_ = after_arrival(missing_, count);
                if (missing_ > 0) return now;
                completion_();
                // [BA1] Relaxed is enough, because every arrive_and_drop() of the round happens before this
                // last arrival.
                missing_ = expected_.load(sys::relaxed);
                return state_value{1 - now.state, 0};
            });
        }
        return arrival_token(round);
    }

    /// Returns whether the round of `token` is complete.
    [[nodiscard]] bool is_complete(arrival_token token) const noexcept { return lock_.is_in(after(token)); }

    /// Waits until the round of `token` is complete.
    void wait(arrival_token token) const noexcept { lock_.pass(after(token)); }
    /// Waits until the round of `token` is complete, or until `limit` is reached. Returns whether the round
    /// is complete. The arrival of the caller counts even if the result is false.
    [[nodiscard]] bool wait(arrival_token token, const wait_limit& limit) const noexcept {
        return lock_.pass(after(token), limit);
    }
    /// Waits for a round like wait(token, limit), where the limit is a duration.
    [[nodiscard]] bool wait_for(arrival_token token, const wait_duration& duration) const {
        return wait(token, duration);
    }
    /// Waits for a round like wait(token, limit), where the limit is a deadline.
    [[nodiscard]] bool wait_until(arrival_token token, const wait_deadline& deadline) const {
        return wait(token, deadline);
    }

    /// Arrives at the barrier, and waits until the round is complete.
    void arrive_and_wait() { wait(arrive()); }
    /// Arrives at the barrier, and waits until the round is complete or `limit` is reached. Returns whether
    /// the round is complete. The arrival counts even if the result is false. So the thread must arrive again
    /// in the next round.
    [[nodiscard]] bool arrive_and_wait(const wait_limit& limit) { return wait(arrive(), limit); }
    /// Arrives and waits like arrive_and_wait(limit), where the limit is a duration.
    [[nodiscard]] bool arrive_and_wait_for(const wait_duration& duration) {
        return arrive_and_wait(duration);
    }
    /// Arrives and waits like arrive_and_wait(limit), where the limit is a deadline.
    [[nodiscard]] bool arrive_and_wait_until(const wait_deadline& deadline) {
        return arrive_and_wait(deadline);
    }

    /// Arrives at the barrier for the last time. Each later round expects one arrival less.
    void arrive_and_drop() {
        // [BA1] Relaxed is enough, because the arrival below publishes the new number of participants.
        expected_.fetch_sub(1, sys::relaxed);
        (void)arrive();
    }

private:
    friend struct detail::lock_access;
    [[nodiscard]] state_lock& core() const noexcept { return lock_; }
    /// Returns a mask with one bit. The bit stands for the state that the barrier has after the round of
    /// `token`.
    [[nodiscard]] static state_lock::mask after(arrival_token token) noexcept {
        return state_lock::mask{1} << (1 - token.round_);
    }

    static constexpr state_rules parking{.name = "a barrier"};
    static constexpr state_rules yielding{.yields = 8, .name = "a barrier"};
    static constexpr state_lock::mask both = 3; // even rounds have state 0, and odd rounds have state 1

    static constexpr std::ptrdiff_t checked(std::ptrdiff_t expected) {
        if (expected < 0)
            throw std::invalid_argument("barrier: expected is " + std::to_string(expected)
                                        + ", allowed is 0 or more");
        return expected;
    }
    static constexpr bool in_word(std::ptrdiff_t expected) noexcept {
        return std::is_same_v<Completion, no_completion>
               && expected <= std::ptrdiff_t{state_lock::max_payload};
    }
    static std::ptrdiff_t after_arrival(std::ptrdiff_t missing, std::ptrdiff_t count) noexcept {
        if (count < 1 || count > missing)
            sys::contract_broken("barrier::arrive: more arrivals than the round expects, or fewer than 1");
        return missing - count;
    }

    mutable state_lock lock_; // if in_word_ is true, the payload is the number of missing arrivals
    sys::atomic<std::ptrdiff_t> expected_;
    std::ptrdiff_t missing_; // the number of missing arrivals, if in_word_ is false; lock_ guards this number
    const bool in_word_;
    [[no_unique_address]] Completion completion_;
};

} // namespace ekiden::inline EKIDEN_ABI

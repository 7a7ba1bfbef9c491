/// How workers sleep, and how a poster wakes one of them. The protocol and its proof: sleep.md.
///
/// Part: pool. Used by: worker (sleeps), scheduler (wakes).
///
/// An event count (prepare, check again, commit) with one token. At most one awake worker at a time searches
/// for work on behalf of all. Meanwhile posters wake no worker. Modeled on the idle-worker schemes of rayon
/// and Tokio. New: a wake-up hands the token to one named sleeper, and a post costs no fence while every
/// worker is busy.
#pragma once

#include <ekiden/sys/asymmetric_fence.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstdint>
#include <memory>

namespace ekiden::inline EKIDEN_ABI {

/// Sleeping places for a fixed number of workers. Only worker `w` calls the functions that take `w`, except
/// signal() and is_waiting().
class event_count {
public:
    /// Returns whether any queue may hold work. Called after a fence, so it may read with any order.
    struct work_source {
        bool (*has_work)(const void* self) noexcept;
        const void* self;
    };

    /// Throws std::bad_alloc.
    event_count(unsigned workers, work_source source);

    /// Any thread, after it has published work: ensures that a worker finds it. Returns true if it has woken
    /// a worker.
    bool notify() noexcept {
        // [EC1] Light: orders the publication before the load of state_. Pairs with the heavy fence in
        // prepare_wait().
        sys::fence_light();
        if (state_.load(sys::relaxed) >= one_waiting) [[unlikely]]
            return notify_sleepers();
        return false;
    }

    /// Takes the token if it is free. The owner gives it back with end_search() or prepare_wait().
    [[nodiscard]] bool try_begin_search() noexcept;

    /// Gives the token back after the owner has found a task. Wakes the next worker if there is more work.
    void end_search() noexcept;

    /// Announces that worker `w` is about to sleep. Gives the token back if the worker has it. For all work,
    /// either the caller sees it after the return, or notify() of its poster sees the worker. Followed by
    /// commit_wait() or cancel_wait().
    void prepare_wait(unsigned w, bool has_token) noexcept;

    enum class wake_up : std::uint8_t {
        notified,  ///< there is work, and the worker has the token now
        signalled, ///< what the worker waits for has happened, or the pool wants it to check
        timed_out, ///< the deadline has passed
    };

    /// Sleeps until woken; until `deadline` if it is not null. If `deadline` is null and a watcher is wanted,
    /// the worker becomes the watcher: it sleeps for 10 ms at most. See is_watched().
    [[nodiscard]] wake_up commit_wait(unsigned w, const sys::clock::time_point* deadline) noexcept;

    /// Does not sleep after all. Returns `notified` if the worker was given the token meanwhile.
    [[nodiscard]] wake_up cancel_wait(unsigned w) noexcept;

    /// Any thread: wakes worker `w` without the token, if it sleeps or is about to. Otherwise the worker sees
    /// what the caller did before when it checks again.
    void signal(unsigned w) noexcept;

    /// Any thread: calls signal() for each worker.
    void signal_all() noexcept;

    /// Any thread: returns how many workers sleep or are about to. A hint, except for what the caller's
    /// fences order.
    [[nodiscard]] std::uint32_t waiting() const noexcept { return state_.load(sys::relaxed) / one_waiting; }

    /// Like waiting(): returns whether an awake thread has the token.
    [[nodiscard]] bool is_searched() const noexcept { return (state_.load(sys::relaxed) & searching) != 0; }

    /// For a thread that publishes work and does not want to wake a worker for it yet. Returns whether a
    /// watcher sleeps: a worker whose sleep ends after 10 ms at most. If the watcher stops watching before,
    /// and sees the work, it wakes another worker. So the caller makes a full fence between publishing the
    /// work and this call, and calls notify() if this returns false. Requests that the next worker that falls
    /// asleep becomes the watcher.
    [[nodiscard]] bool is_watched() noexcept {
        if (!is_watch_wanted_.load(sys::relaxed)) is_watch_wanted_.store(true, sys::relaxed);
        return is_watched_.load(sys::relaxed);
    }

    /// Like waiting(): returns whether worker `w` sleeps or is about to.
    [[nodiscard]] bool is_waiting(unsigned w) const noexcept {
        return sleepers_[w].word.load(sys::relaxed) == idle;
    }

private:
    // word        meaning                                       set by
    // awake       the worker runs                               the worker
    // idle        the worker sleeps or is about to              prepare_wait
    // notified    woken with the token                          wake_one
    // signalled   woken without it                              signal
    enum : std::uint32_t { awake, idle, notified, signalled };

    struct alignas(sys::isolation) sleeper {
        sys::atomic<std::uint32_t> word{awake};
    };

    // state_: bit 0 is set while a thread has the token. The rest is the number of waiting workers, in units
    // of one_waiting. A worker is counted before its word becomes idle, and until the word has changed again.
    static constexpr std::uint32_t searching = 1;
    static constexpr std::uint32_t one_waiting = 2;

    [[gnu::noinline]] bool notify_sleepers() noexcept;
    [[nodiscard]] bool wake_one() noexcept;
    [[nodiscard]] bool rouse(sleeper& p, std::uint32_t how) noexcept;
    [[nodiscard]] bool begin_watch() noexcept;
    void end_watch(wake_up how) noexcept;
    [[nodiscard]] wake_up sleep_until(unsigned w, const sys::clock::time_point* deadline) noexcept;

    const work_source source_;
    const unsigned workers_;
    const std::unique_ptr<sleeper[]> sleepers_;
    alignas(sys::isolation) sys::atomic<std::uint32_t> state_{0};
    sys::atomic<bool> is_watch_wanted_{false}; // a hint
    sys::atomic<bool> is_watched_{false};
};

} // namespace ekiden::inline EKIDEN_ABI

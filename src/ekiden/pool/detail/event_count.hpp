/// How workers sleep, and how whoever brings work wakes one of them. The protocol and its proof: sleep.md.
///
/// Part: pool. Used by: worker (sleeps), scheduler (wakes).
///
/// An event count (prepare, look again, commit) with one token: at most one awake worker at a time searches
/// for work on behalf of all, and while it does nobody is woken. After the idle-worker schemes of rayon and
/// Tokio; new is that a wake-up hands the token to one named sleeper, and that posting costs no fence while
/// every worker is busy.
#pragma once

#include <ekiden/sys/asymmetric_fence.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstdint>
#include <memory>

namespace ekiden::inline EKIDEN_ABI {

/// Sleeping places for a fixed number of workers. Worker `w` alone calls the functions that take `w`, but for
/// signal().
class event_count {
public:
    /// Whether any queue may hold work. Called after a fence; reads with any order.
    struct work_source {
        bool (*has_work)(const void* self) noexcept;
        const void* self;
    };

    /// Throws std::bad_alloc.
    event_count(unsigned workers, work_source source);

    /// After work was published: sees to it that a worker finds it, if one sleeps. True if it has woken one.
    /// Any thread.
    bool notify() noexcept {
        // [EC1] light: the publication before the look at state_; pairs with the heavy fence in
        // prepare_wait().
        sys::fence_light();
        if (state_.load(sys::relaxed) >= one_waiting) [[unlikely]]
            return notify_sleepers();
        return false;
    }

    /// Takes the token if it is free. The worker that has it must give it back: end_search() or
    /// prepare_wait().
    [[nodiscard]] bool try_begin_search() noexcept;

    /// The searcher has found a task: gives the token back, and wakes the next worker if there is more work.
    void end_search() noexcept;

    /// Worker `w` is about to sleep; gives the token back if it has it. Work that is published before this
    /// returns is either visible to the caller afterwards, or its notify() sees the worker. Then
    /// commit_wait() or cancel_wait().
    void prepare_wait(unsigned w, bool has_token) noexcept;

    enum class wake_up : std::uint8_t {
        notified,  ///< there is work; the worker has the token now
        signalled, ///< what the worker waits for has happened, or the pool wants it to look
        timed_out, ///< the deadline has passed
    };

    /// Sleeps until woken; until `deadline` if it is not null. If `deadline` is null and a watcher is wanted,
    /// the worker becomes the watcher: it sleeps for 10 ms at most. See is_watched().
    [[nodiscard]] wake_up commit_wait(unsigned w, const sys::clock::time_point* deadline) noexcept;

    /// Does not sleep after all. `notified` if the worker was given the token meanwhile.
    [[nodiscard]] wake_up cancel_wait(unsigned w) noexcept;

    /// Wakes worker `w` without the token, if it sleeps or is about to. What the caller did before is visible
    /// to it, or it will look again. Any thread.
    void signal(unsigned w) noexcept;

    /// Whether worker `w`, the calling thread, runs on the processor from which it was woken last, and so
    /// keeps its waker from running: some systems put it there although others are free. A hint.
    [[nodiscard]] bool is_in_way_of_waker(unsigned w) const noexcept;

    /// signal() for each worker.
    void signal_all() noexcept;

    /// How many workers sleep or are about to. A hint, but for the order that the caller's
    /// fences give.
    [[nodiscard]] std::uint32_t waiting() const noexcept { return state_.load(sys::relaxed) / one_waiting; }

    /// Whether somebody awake has the token. As waiting().
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

    /// Whether worker `w` sleeps or is about to. As waiting().
    [[nodiscard]] bool is_waiting(unsigned w) const noexcept {
        return places_[w].word.load(sys::relaxed) == idle;
    }

private:
    // word        meaning                                       set by
    // awake       the worker runs                               the worker
    // idle        the worker sleeps or is about to              prepare_wait
    // notified    woken with the token                          wake_one
    // signalled   woken without it                              signal
    enum : std::uint32_t { awake, idle, notified, signalled };

    struct alignas(sys::isolation) place {
        sys::atomic<std::uint32_t> word{awake};
        sys::atomic<int> waker_cpu{-1};
    };

    // state_: bit 0 = somebody has the token; the rest = number of workers that count as waiting, in ones of
    // one_waiting. A worker counts before its word becomes idle, until after it has become something else.
    static constexpr std::uint32_t searching = 1;
    static constexpr std::uint32_t one_waiting = 2;

    [[gnu::noinline]] bool notify_sleepers() noexcept;
    [[nodiscard]] bool wake_one() noexcept;
    [[nodiscard]] bool rouse(place& p, std::uint32_t how) noexcept;
    [[nodiscard]] bool begin_watch() noexcept;
    void end_watch(wake_up how) noexcept;
    [[nodiscard]] wake_up sleep_until(unsigned w, const sys::clock::time_point* deadline) noexcept;

    const work_source source_;
    const unsigned workers_;
    const std::unique_ptr<place[]> places_;
    alignas(sys::isolation) sys::atomic<std::uint32_t> state_{0};
    sys::atomic<bool> is_watch_wanted_{false}; // a hint
    sys::atomic<bool> is_watched_{false};
};

} // namespace ekiden::inline EKIDEN_ABI

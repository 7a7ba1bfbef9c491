/// How workers sleep, and how a thread that posts a task wakes a worker. sleep.md explains the protocol and
/// its proof.
///
/// Part: pool. Used by: pool, fork. Workers call this class to sleep. The scheduler calls this class to wake
/// workers.
///
/// The class is an event count. A worker announces its sleep, checks the queues again, and then sleeps. At
/// most one worker at a time has the token. The awake worker that has the token searches for work on behalf
/// of all workers. While a worker has the token, posters wake no worker. The design is modeled on the
/// idle-worker schemes of rayon and Tokio, with two differences. First, a wake-up hands the token to one
/// particular sleeper. Second, a post executes no fence instruction while every worker is busy.
#pragma once

#include <ekiden/sys/asymmetric_fence.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstdint>
#include <memory>

namespace ekiden::inline EKIDEN_ABI {

/// Provides a place to sleep for each of a fixed number of workers. Only worker `w` calls the functions that
/// have the parameter `w`, except signal() and is_waiting(). Any thread may call signal() and is_waiting().
class event_count {
public:
    /// has_work() returns whether any queue may contain work. The event count calls has_work() after a fence,
    /// so the loads in has_work() may have any memory order.
    struct work_source {
        bool (*has_work)(const void* self) noexcept;
        const void* self;
    };

    /// Throws std::bad_alloc.
    event_count(unsigned workers, work_source source);

    /// Any thread: ensures that a worker finds the work that the calling thread has published. Returns true
    /// if the call has woken a worker.
    bool notify() noexcept {
        // [EC1] Light fence: orders the publication before the load of state_. Pairs with the heavy fence in
        // prepare_wait().
        sys::fence_light();
        if (state_.load(sys::relaxed) >= one_waiting) [[unlikely]]
            return notify_sleepers();
        return false;
    }

    /// Takes the token if the token is free. The owner gives the token back with end_search() or
    /// prepare_wait().
    [[nodiscard]] bool try_begin_search() noexcept;

    /// Called by the owner of the token after the owner has found a task. Gives the token back. If there is
    /// more work, wakes another worker.
    void end_search() noexcept;

    /// Announces that worker `w` is about to sleep. If the worker has the token, gives the token back. After
    /// this call, the caller sees all published work, unless the poster of the work sees in notify() that
    /// this worker is about to sleep. The caller must then call commit_wait() or cancel_wait().
    void prepare_wait(unsigned w, bool has_token) noexcept;

    enum class wake_up : std::uint8_t {
        notified,  ///< there is work, and the worker has received the token
        signalled, ///< a thread has called signal(), so the worker must check whether to continue
        timed_out, ///< the deadline has passed
    };

    /// Sleeps until another thread wakes the worker, or until `deadline` if `deadline` is not null. If
    /// `deadline` is null and a watcher is requested, the worker becomes the watcher, and sleeps for 10 ms at
    /// most. See is_watched().
    [[nodiscard]] wake_up commit_wait(unsigned w, const sys::clock::time_point* deadline) noexcept;

    /// Withdraws the announcement that prepare_wait() has made. The worker does not sleep. Returns `notified`
    /// if another thread has given the token to the worker meanwhile.
    [[nodiscard]] wake_up cancel_wait(unsigned w) noexcept;

    /// Any thread: if worker `w` sleeps or is about to sleep, wakes the worker without giving it the token.
    /// If the worker is awake, everything that the caller did before this call is visible to the worker after
    /// its next prepare_wait().
    void signal(unsigned w) noexcept;

    /// Any thread: wakes up to `count` workers like signal(). Chooses workers that sleep or are about to
    /// sleep. Returns how many workers the call has woken.
    unsigned signal_any(unsigned count) noexcept;

    /// Any thread: calls signal() for each worker.
    void signal_all() noexcept;

    /// Any thread: returns how many workers sleep or are about to sleep. Without a fence before the call, the
    /// result is only a hint.
    [[nodiscard]] std::uint32_t waiting() const noexcept { return state_.load(sys::relaxed) / one_waiting; }

    /// Any thread: returns whether an awake thread has the token. The result is a hint, like the result of
    /// waiting().
    [[nodiscard]] bool is_searched() const noexcept { return (state_.load(sys::relaxed) & searching) != 0; }

    /// Returns whether there is a watcher. The watcher is a worker whose sleep ends after 10 ms at most. If
    /// the watcher sees work at the end of its sleep, the watcher wakes another worker. A thread can call
    /// this function if it has published work but does not want to wake a worker yet. After the thread has
    /// published the work, it must execute a full fence before this call. If this call returns false, the
    /// thread must call notify(). The call also requests a new watcher: the next worker that falls asleep
    /// becomes the watcher.
    [[nodiscard]] bool is_watched() noexcept {
        if (!is_watch_wanted_.load(sys::relaxed)) is_watch_wanted_.store(true, sys::relaxed);
        return is_watched_.load(sys::relaxed);
    }

    /// Any thread: returns whether worker `w` sleeps or is about to sleep. The result is a hint, like the
    /// result of waiting().
    [[nodiscard]] bool is_waiting(unsigned w) const noexcept {
        return sleepers_[w].word.load(sys::relaxed) == idle;
    }

private:
    // The values of `word`:
    //  * awake: the worker runs. The worker itself sets this value.
    //  * idle: the worker sleeps or is about to sleep. prepare_wait() sets this value.
    //  * notified: the worker was woken with the token. wake_one() sets this value.
    //  * signalled: the worker was woken without the token. signal() and signal_any() set this value.
    enum : std::uint32_t { awake, idle, notified, signalled };

    struct alignas(sys::isolation) sleeper {
        sys::atomic<std::uint32_t> word{awake};
    };

    // The parts of state_. Bit 0 is set while a thread has the token. The other bits contain the number of
    // waiting workers, in units of one_waiting. A worker is added to this number before its word becomes
    // `idle`, and is subtracted after its word has changed again.
    static constexpr std::uint32_t searching = 1;
    static constexpr std::uint32_t one_waiting = 2;

    EKIDEN_NOINLINE bool notify_sleepers() noexcept;
    [[nodiscard]] bool wake_one(std::uint32_t how) noexcept;
    [[nodiscard]] bool rouse(sleeper& p, std::uint32_t how) noexcept;
    [[nodiscard]] bool begin_watch() noexcept;
    void end_watch(wake_up how) noexcept;
    [[nodiscard]] wake_up sleep_until(unsigned w, const sys::clock::time_point* deadline) noexcept;

    const work_source source_;
    const unsigned workers_;
    const std::unique_ptr<sleeper[]> sleepers_;
    alignas(sys::isolation) sys::atomic<std::uint32_t> state_{0};
    sys::atomic<bool> is_watch_wanted_{false}; // A hint.
    sys::atomic<bool> is_watched_{false};
};

} // namespace ekiden::inline EKIDEN_ABI

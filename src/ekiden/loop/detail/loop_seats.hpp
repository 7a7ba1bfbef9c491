/// The threads inside run() of a context that any number of threads may run: how they sleep, how a thread
/// that posts wakes one of them, and how they find out together that there is nothing left to do. The
/// protocol and its proof: loop.md.
///
/// Part: loop. Used by: shared_loop. Private.
///
/// An event count with one token, as the pool has it (pool/detail/event_count.hpp). New is that the same word
/// counts the threads that are there and the work that is outstanding: so "all of them wait, and nothing can
/// come" is one value of one word, and the step from there to "stopped" is one compare-exchange.
#pragma once

#include <ekiden/sys/asymmetric_fence.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>

#include <cstdint>
#include <memory>

namespace ekiden::inline EKIDEN_ABI {

/// Seats for a fixed number of threads. A thread with a seat has given its number to the functions that take
/// `seat`; it alone calls them.
class loop_seats {
public:
    /// Whether any queue may hold work. Called after a fence; reads with any order.
    struct work_source {
        bool (*has_work)(const void* self) noexcept;
        const void* self;
    };

    static constexpr unsigned most_seats = 1023;

    /// `seats` is at most most_seats. Throws std::bad_alloc.
    loop_seats(unsigned seats, work_source source);
    /// Waits until other threads have let go.
    ~loop_seats();
    loop_seats(const loop_seats&) = delete;
    loop_seats& operator=(const loop_seats&) = delete;

    static constexpr unsigned none = ~0U;

    /// A free seat, the one with the lowest number; waits for one if all are taken, and `waits`. `none` if
    /// the context has stopped, or no seat is free.
    [[nodiscard]] unsigned sit_down(bool waits) noexcept;
    /// Gives the seat back. Wakes another thread if there is work left, or if the others must find out that
    /// there is none. The thread does not have the token.
    void stand_up(unsigned seat) noexcept;

    // ---- threads that bring work

    /// After work was published: sees to it that a thread finds it, if one sleeps. Any thread.
    void notify() noexcept {
        // [LO1] light: the publication before the look at state_; pairs with the heavy fence in
        // prepare_wait().
        sys::fence_light();
        if ((state_.load(sys::relaxed) & waiting_mask) != 0) [[unlikely]]
            notify_sleepers();
    }

    /// Work elsewhere has begun; while there is some, the context does not stop by itself. Any thread.
    void work_started() noexcept { state_.fetch_add(one_work, sys::relaxed); }
    /// The call may be the last that its thread makes to the context.
    void work_finished() noexcept;

    /// A thread with a seat: whether all others wait, and no work is outstanding. A hint.
    [[nodiscard]] bool is_last() const noexcept {
        const std::uint64_t state = state_.load(sys::relaxed);
        return state < one_work
               && (state & waiting_mask) / one_waiting + 1 == (state & seated_mask) / one_seated;
    }
    [[nodiscard]] bool has_work_elsewhere() const noexcept { return state_.load(sys::relaxed) >= one_work; }
    [[nodiscard]] bool is_empty() const noexcept { return (state_.load(sys::relaxed) & seated_mask) == 0; }

    // ---- stop

    /// Any thread.
    void stop() noexcept;
    void restart() noexcept {
        has_run_dry_.store(false, sys::relaxed);
        state_.fetch_and(~stopped, sys::relaxed);
    }
    /// Whether the context has stopped for lack of work, and has work now. Once.
    [[nodiscard]] bool was_left_stopped() noexcept {
        return has_run_dry_.load(sys::relaxed) && source_.has_work(source_.self)
               && has_run_dry_.exchange(false, sys::relaxed);
    }
    [[nodiscard]] bool is_stopped() const noexcept {
        // [LO6] acquire: what was done before stop(), by the thread that stopped.
        return (state_.load(sys::acquire) & stopped) != 0;
    }

    // ---- the searcher

    /// Takes the token if it is free. The thread that has it must give it back: end_search() or
    /// prepare_wait().
    [[nodiscard]] bool try_begin_search() noexcept;
    /// The searcher has found a task: gives the token back, and wakes the next thread if there is more work.
    void end_search() noexcept;
    /// Whether somebody has the token. A hint, but for the order that the caller's fences give.
    [[nodiscard]] bool is_searched() const noexcept { return (state_.load(sys::relaxed) & searching) != 0; }

    // ---- the sleeper

    /// The thread is about to sleep; gives the token back if it has it. Work that is published before this
    /// returns is either visible to the caller afterwards, or its notify() sees the thread. Then
    /// commit_wait(), cancel_wait() or try_finish().
    void prepare_wait(unsigned seat, bool has_token) noexcept;

    enum class wake_up : std::uint8_t {
        notified,  ///< there is work; the thread has the token now
        signalled, ///< it should look again: at the clock, or whether the context has stopped
        timed_out, ///< the deadline has passed
    };

    /// Sleeps until woken; until `deadline` if it is not null.
    [[nodiscard]] wake_up commit_wait(unsigned seat, const sys::clock::time_point* deadline) noexcept;
    /// Does not sleep after all. `notified` if the thread was given the token meanwhile.
    [[nodiscard]] wake_up cancel_wait(unsigned seat) noexcept;

    enum class verdict : std::uint8_t {
        not_yet,    ///< others are at work, or work is outstanding: commit_wait() or cancel_wait() follows
        stopped,    ///< there was nothing left to do: the context has stopped. The wait is over
        look_again, ///< there may be work; the wait is over, and the thread has the token
        changed,    ///< something has changed; the wait is over, without the token
    };
    /// After prepare_wait(), and a look that has found no work: stops the context if all threads wait, no
    /// work is outstanding, and none was published before that moment.
    [[nodiscard]] verdict try_finish(unsigned seat) noexcept;

    // ---- the timekeeper

    /// One of the threads that sleep watches the clock. True if `seat` is the one, now. To be followed by a
    /// look at the clocks: either that sees what an alarm_moved() has announced, or that sees the keeper.
    [[nodiscard]] bool try_keep_time(unsigned seat) noexcept;
    /// The keeper goes to work. True if others sleep, of whom one should watch the clock now: alarm_moved()
    /// if there is an alarm; that is to be asked after this.
    [[nodiscard]] bool stop_keeping_time() noexcept;
    /// A clock has an earlier alarm: the keeper looks, or a thread that becomes it. Any thread.
    void alarm_moved() noexcept;

private:
    // word        meaning                                       set by
    // awake       the thread runs, or nobody has the seat       the thread
    // idle        the thread sleeps or is about to              prepare_wait
    // chosen      it is being woken: about to be uncounted      rouse
    // notified    woken with the token                          rouse
    // signalled   woken without it                              rouse
    enum : std::uint32_t { awake, idle, chosen, notified, signalled };

    struct alignas(sys::isolation) place {
        sys::atomic<std::uint32_t> word{awake};
    };

    // state_:
    //   bit 0        somebody has the token
    //   bit 1        stopped
    //   bit 2        deciding: the owner of the token, who waits too, looks whether anything is left
    //   bits 3-12    waiting: threads that sleep or are about to; counted before their word becomes idle,
    //                until after it has become something else, and before they go on
    //   bits 13-22   seated: threads that have a seat
    //   bits 23-31   inside: calls from elsewhere that go on after the step that may let the context end
    //   bits 32-63   outstanding work
    static constexpr std::uint64_t searching = 1;
    static constexpr std::uint64_t stopped = 2;
    static constexpr std::uint64_t deciding = 4;
    static constexpr std::uint64_t one_waiting = 8;
    static constexpr std::uint64_t waiting_mask = std::uint64_t{1023} << 3;
    static constexpr std::uint64_t one_seated = std::uint64_t{1} << 13;
    static constexpr std::uint64_t seated_mask = std::uint64_t{1023} << 13;
    static constexpr std::uint64_t one_inside = std::uint64_t{1} << 23;
    static constexpr std::uint64_t inside_mask = std::uint64_t{511} << 23;
    static constexpr std::uint64_t one_work = std::uint64_t{1} << 32;

    /// All wait, the token is free, nothing is outstanding: somebody must decide.
    [[nodiscard]] static bool is_undecided(std::uint64_t state) noexcept {
        return (state & waiting_mask) / one_waiting == (state & seated_mask) / one_seated
               && (state & seated_mask) != 0 && state < one_work && (state & (searching | stopped)) == 0;
    }

    [[gnu::noinline]] void notify_sleepers() noexcept;
    [[nodiscard]] bool wake_one() noexcept;
    [[nodiscard]] bool rouse(place& p, std::uint32_t how) noexcept;
    [[nodiscard]] std::uint32_t outcome(place& p) noexcept;
    void rouse_any() noexcept;
    void enter() noexcept;
    void leave() noexcept { state_.fetch_sub(one_inside, sys::release); } // [LO7]
    [[nodiscard]] unsigned take_seat() noexcept;

    const work_source source_;
    const unsigned seats_;
    const std::unique_ptr<place[]> places_;
    const std::unique_ptr<sys::atomic<std::uint64_t>[]> taken_; // a bit for each seat
    sys::atomic<unsigned> used_{0};                             // no seat from this number on was ever taken
    alignas(sys::isolation) sys::atomic<std::uint64_t> state_{0};
    sys::atomic<unsigned> keeper_{none};         // the seat of the thread that watches the clock
    sys::atomic<std::uint32_t> departures_{0};   // changes when a seat becomes free, and on stop()
    sys::atomic<std::uint32_t> without_seat_{0}; // threads that wait for that
    sys::atomic<bool> has_run_dry_{false};       // stopped by try_finish()
};

} // namespace ekiden::inline EKIDEN_ABI

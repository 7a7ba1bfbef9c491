/// A coroutine's wait on a state_lock, and what ends it: a releaser, a stop, or the end of the frame.
///
/// Part: async. Used by: lock_awaiter, and through it the awaited locks, events and buffers; limited_wait.
/// Private. The protocol: locks.md.
#pragma once

#include <ekiden/async/detail/resume_loop.hpp>
#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/async/detail/suspension.hpp>
#include <ekiden/sync/detail/state_lock.hpp>
#include <ekiden/sys/atomic.hpp>

#include <concepts>
#include <coroutine>
#include <cstdint>
#include <new>

namespace ekiden::inline EKIDEN_ABI {

/// How an awaited operation has ended.
enum class wait_result : std::uint8_t {
    done,
    stopped,  ///< a stop was requested
    timed_out ///< a stop was requested, and the deadline of the environment has passed
};

namespace detail {

/// Resumes the coroutine of an awaiter that may be done without a wait.
class way_home {
protected:
    way_home() noexcept = default;

    /// Called first. Returns whether a stop has been requested.
    template <class Promise>
    [[nodiscard]] bool bind(std::coroutine_handle<Promise> coroutine) noexcept {
        home_.bind(coroutine);
        const stop_state* const stop = home_.env().stop;
        return stop != nullptr && stop->stop_requested();
    }

    /// Called if the operation is done without a wait. If the time slice is over, posts the coroutine to the
    /// end of its executor's queue and returns true.
    template <class Promise>
    [[nodiscard]] static bool gives_way(std::coroutine_handle<Promise> coroutine) noexcept {
        if constexpr (std::derived_from<Promise, coroutine_promise>) {
            if (is_slice_over()) [[unlikely]] {
                coroutine.promise().post(task_order::deferred);
                return true;
            }
        }
        return false;
    }

    /// Returns the result of a wait that a stop has ended.
    [[nodiscard]] wait_result why_stopped() const noexcept;

    suspension home_;
};

/// The base of awaiters. Only the coroutine uses it, except for served(), called by the thread that releases
/// the lock, and stopped(), called by the thread that requests the stop. Exactly one of the two posts the
/// coroutine. A third thread may destroy the frame while it waits: the last thread of an executor's context.
///
/// phase      meaning                                          set by
/// idle       not awaited yet                                  -
/// at_once    done without waiting                             the coroutine
/// waiting    the lock has the waiter, or gets it              the coroutine
/// served     done by a releaser; the coroutine is posted      the releaser
/// canceled   stopped, and has had no effect                   the canceler, or the coroutine
/// collected  the coroutine has resumed                        the coroutine
/// ending     the frame is being destroyed; a releaser has     the thread that destroys the frame
///            chosen it already
/// let_go     the releaser does not touch the frame any more   the releaser
class lock_wait : protected stop_node, protected way_home {
public:
    static constexpr bool comes_home = true;
    /// Whether the operation has a limit of its own, and so a result that says whether it was done.
    static constexpr bool is_limited = false;

    lock_wait(const lock_wait&) = delete;
    lock_wait& operator=(const lock_wait&) = delete;

protected:
    /// What is wanted of the lock: to hold it (change is null), or to have it changed. `change` gets the
    /// address of the lock_wait as its context.
    struct request {
        state_lock& lock;
        state_lock::mask states;
        state_transition change = nullptr;
        bool pure = false; ///< the change reads nothing but the value
    };

    lock_wait() noexcept : lock_wait(&stopped) {}
    /// `at_stop` is called instead of stopped() when the stop of the environment is requested.
    explicit lock_wait(callback at_stop) noexcept : stop_node(at_stop) {}
    ~lock_wait() = default; // after end()

    /// Takes the waiter out of the lock, in the destructor of the awaiter. Returns true if the lock has
    /// granted the operation and the coroutine never received it: the caller gives it back.
    [[nodiscard]] bool end() noexcept {
        const phase now = phase_.load(sys::relaxed);
        return now == phase::waiting ? leave_queue() : now == phase::at_once || now == phase::served;
    }

    /// Called first. Returns false if a stop has been requested: the coroutine is then on its way home.
    template <class Promise>
    [[nodiscard]] bool begin(std::coroutine_handle<Promise> coroutine) noexcept {
        if (!bind(coroutine)) [[likely]]
            return true;
        refuse();
        return false;
    }

    /// Called if the operation is done without a wait. Returns true like gives_way().
    template <class Promise>
    [[nodiscard]] bool go_on(std::coroutine_handle<Promise> coroutine) noexcept {
        phase_.store(phase::at_once, sys::relaxed);
        return gives_way(coroutine);
    }

    /// Returns true if the coroutine waits or is on its way home: nothing of it may be touched any more.
    /// Returns false if the operation is done; go_on() follows.
    [[nodiscard]] bool wait(const request& wanted) noexcept;

    /// Called when the coroutine has resumed.
    [[nodiscard]] wait_result collect() noexcept {
        const phase ended = phase_.load(sys::relaxed);
        phase_.store(phase::collected, sys::relaxed);
        return ended == phase::at_once ? wait_result::done : collect_late(ended);
    }

    // ---- the parts of wait(), for limited_wait

    /// Makes the waiter.
    void prepare(const request& wanted) noexcept;
    /// Gives the waiter to the lock. Returns false if the operation is done without a wait.
    [[nodiscard]] bool enter_queue() noexcept;
    /// The wait ends before it has begun: posts the coroutine.
    void refuse() noexcept {
        phase_.store(phase::canceled, sys::relaxed);
        home_.resume();
    }
    /// Takes the waiter out of the lock, on behalf of a canceler. Returns true if it was still there: the
    /// caller posts the coroutine. The frame and the lock exist until the canceler has returned, because the
    /// coroutine waits for that before it continues.
    [[nodiscard]] bool take_back() noexcept;

private:
    enum class phase : std::uint8_t { idle, at_once, waiting, served, canceled, collected, ending, let_go };

    static void served(waiter& who) noexcept;
    static void stopped(stop_node& self) noexcept;
    [[nodiscard]] bool leave_queue() noexcept;
    [[nodiscard]] wait_result collect_late(phase ended) noexcept;

    // Relaxed except for [AW1] and [AW2]: what the coroutine reads was written before it was posted.
    sys::atomic<phase> phase_{phase::idle};
    state_lock* lock_ = nullptr;
    union {
        async_waiter waiter_; // from prepare() on; owns nothing
    };
};

/// Pauses before the next attempt to enter a lock while another thread makes a short change inside.
/// `attempts` is the number of attempts so far. Each pause is twice as long as the one before. After the last
/// attempt, returns false without a pause.
[[nodiscard]] bool pause_before_attempt(unsigned attempts) noexcept;

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI

/// The wait of a coroutine on a state_lock. The wait is ended by a thread that releases the lock, by a stop
/// request, or by the destruction of the coroutine frame.
///
/// Part: async. Used by: lock_awaiter, limited_wait, select_wait. This header is private. locks.md describes
/// the protocol.
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

/// Says how an awaited operation has ended.
enum class wait_result : std::uint8_t {
    done,
    stopped,  ///< a stop was requested
    timed_out ///< a stop was requested, and the deadline of the environment has passed
};

namespace detail {

/// The base class of awaiters whose operation may be done without a wait. The class resumes the awaiting
/// coroutine.
class way_home {
protected:
    way_home() noexcept = default;

    /// Sets the coroutine. Must be called before all other functions. Returns whether a stop has been
    /// requested.
    template <class Promise>
    [[nodiscard]] bool bind(std::coroutine_handle<Promise> coroutine) noexcept {
        home_.bind(coroutine);
        const stop_state* const stop = home_.env().stop;
        return stop != nullptr && stop->stop_requested();
    }

    /// Called if the operation is done without a wait. If the time slice of the coroutine is over, posts the
    /// coroutine to the end of its executor's queue and returns true. Otherwise, returns false.
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

    /// Returns `stopped` or `timed_out`. Called for a wait that a stop request has ended.
    [[nodiscard]] wait_result why_stopped() const noexcept;

    suspension home_;
};

/// The base class of awaiters that wait for a lock. Only the awaiting coroutine uses this object, with two
/// exceptions. The releaser, which is the thread that releases the lock, calls served(). The canceler, which
/// is the thread that requests a stop, calls stopped(). Exactly one of these two threads posts the coroutine.
/// When the context of a waiting coroutine ends, a third thread may destroy the frame of the coroutine.
///
/// The values of phase_ are:
///
/// * `idle`: the coroutine has not awaited the operation yet.
/// * `at_once`: the operation was done without waiting. The coroutine sets this value.
/// * `waiting`: the waiter is in the list of the lock, or will be. The coroutine sets this value.
/// * `served`: the releaser has done the operation, and posts the coroutine. The releaser sets this value.
/// * `canceled`: the wait was stopped, and has had no effect. The canceler or the coroutine sets this value.
/// * `collected`: the coroutine has resumed. The coroutine sets this value.
/// * `ending`: the frame is being destroyed after the waiter was chosen. The destructor sets this value.
/// * `let_go`: the releaser no longer accesses the frame. The releaser sets this value.
class lock_wait : protected stop_node, protected way_home {
public:
    static constexpr bool comes_home = true;
    /// True if the operation has a limit. The result of an operation with a limit says whether the operation
    /// was done.
    static constexpr bool is_limited = false;

    lock_wait(const lock_wait&) = delete;
    lock_wait& operator=(const lock_wait&) = delete;

protected:
    /// Describes the operation that a coroutine requests from a lock. If `change` is null, the operation
    /// acquires the lock. Otherwise, the operation changes the value of the lock. `change` receives the
    /// address of the lock_wait as its context argument.
    struct request {
        state_lock& lock;
        state_lock::mask states;
        state_transition change = nullptr;
        bool pure = false; ///< true if `change` reads only the value
    };

    lock_wait() noexcept : lock_wait(&stopped) {}
    /// `at_stop` is called instead of stopped() when a stop of the environment is requested.
    explicit lock_wait(callback at_stop) noexcept : stop_node(at_stop) {}
    ~lock_wait() = default; // the derived class must call end() first

    /// Removes the waiter from the lock. Called by the destructor of the awaiter. Returns true if the lock
    /// has granted the operation, and the coroutine has never received the grant. If end() returns true, the
    /// caller must undo the operation.
    [[nodiscard]] bool end() noexcept {
        const phase now = phase_.load(sys::relaxed);
        return now == phase::waiting ? leave_queue() : now == phase::at_once || now == phase::served;
    }

    /// Must be called before all other functions. If a stop has been requested, posts the coroutine and
    /// returns false.
    template <class Promise>
    [[nodiscard]] bool begin(std::coroutine_handle<Promise> coroutine) noexcept {
        if (!bind(coroutine)) [[likely]]
            return true;
        refuse();
        return false;
    }

    /// Called if the operation is done without a wait. Returns the result of gives_way().
    template <class Promise>
    [[nodiscard]] bool go_on(std::coroutine_handle<Promise> coroutine) noexcept {
        phase_.store(phase::at_once, sys::relaxed);
        return gives_way(coroutine);
    }

    /// Called instead of go_on(). Posts the coroutine.
    void go_home() noexcept {
        phase_.store(phase::at_once, sys::relaxed);
        home_.resume();
    }

    /// Begins to wait. Returns true if the coroutine waits or has been posted. In this case, the caller must
    /// not access the frame afterwards. Returns false if the operation was done without a wait. In this case,
    /// the caller must call go_on().
    [[nodiscard]] bool wait(const request& wanted) noexcept;

    /// Returns how the wait has ended. Called when the coroutine has resumed.
    [[nodiscard]] wait_result collect() noexcept {
        const phase ended = phase_.load(sys::relaxed);
        phase_.store(phase::collected, sys::relaxed);
        return ended == phase::at_once ? wait_result::done : collect_late(ended);
    }

    // ---- The parts of wait(), which limited_wait also uses

    /// Creates the waiter.
    void prepare(const request& wanted) noexcept;
    /// Passes the waiter to the lock. Returns false if the operation was done without a wait.
    [[nodiscard]] bool enter_queue() noexcept;
    /// Cancels a wait that has not begun. Posts the coroutine.
    void refuse() noexcept {
        phase_.store(phase::canceled, sys::relaxed);
        home_.resume();
    }
    /// Removes the waiter from the lock. Called by a canceler. Returns true if this call has removed the
    /// waiter. In this case, the caller must post the coroutine. The frame and the lock exist until the
    /// function of the canceler has returned, because the coroutine waits for this return before it
    /// continues.
    [[nodiscard]] bool take_back() noexcept;

private:
    enum class phase : std::uint8_t { idle, at_once, waiting, served, canceled, collected, ending, let_go };

    static void served(waiter& who) noexcept;
    static void stopped(stop_node& self) noexcept;
    [[nodiscard]] bool leave_queue() noexcept;
    [[nodiscard]] wait_result collect_late(phase ended) noexcept;

    // All accesses to phase_ are relaxed, except the accesses that have a label. Relaxed is enough, because
    // the post of the coroutine publishes all data that the coroutine reads.
    sys::atomic<phase> phase_{phase::idle};
    state_lock* lock_ = nullptr;
    union {
        async_waiter waiter_; // prepare() constructs the waiter, which owns no memory
    };
};

/// Pauses before the next attempt to enter a lock in which another thread is making a short change. Returns
/// true after the pause. `attempts` is the number of attempts so far. Each pause is twice as long as the
/// previous pause. If the caller should not try again, returns false without a pause.
[[nodiscard]] bool pause_before_attempt(unsigned attempts) noexcept;

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI

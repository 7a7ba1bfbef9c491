/// The state that a timer shares with its pending waits. The state holds the lists of waits, the marks of
/// canceled waits, and the number of running handlers. timer.md explains and proves the protocol.
///
/// Part: timer. Used by: basic_waitable_timer, timer_queue. A timer creates its state at its first wait.
#pragma once

#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/timer/detail/timer_wheel.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace ekiden::inline EKIDEN_ABI {

class timer_queue;
class timer_state;

/// One wait for a timer. The wait is a task that calls the handler. The state owns the wait until the wait is
/// posted. After the post, the executor owns the wait. The state still refers to the wait until the handler
/// begins.
class timer_wait : public task {
public:
    /// A scope on the stack of the thread that runs the handler. The scope begins before the handler begins,
    /// and ends after the handler has returned.
    class run_scope {
    public:
        /// Marks the handler as begun, so a later cancel() does not count the handler. The caller may free
        /// the memory of the wait afterwards.
        explicit run_scope(timer_wait& begun) noexcept;
        /// Marks the handler as ended. The handler must have returned, and its captures must have been
        /// destroyed.
        ~run_scope();
        run_scope(const run_scope&) = delete;
        run_scope& operator=(const run_scope&) = delete;

        /// Returns whether the handler must report operation_canceled.
        [[nodiscard]] bool is_canceled() const noexcept { return is_canceled_; }

    private:
        friend class timer_state;
        timer_state& state_;
        const run_scope* const outer_; // the enclosing scope in this thread, or null
        const bool is_canceled_;
    };

protected:
    /// `post` passes the wait to the handler's executor. `post` never runs the handler itself.
    timer_wait(function answer, void (*post)(timer_wait&) noexcept) noexcept : task(answer), post_(post) {}
    ~timer_wait() = default;

    /// Removes the wait from the state, because the wait will not run. Call this before the handler is
    /// destroyed.
    void drop() noexcept;

private:
    friend class timer_state;

    void (*const post_)(timer_wait&) noexcept;
    timer_state* state_ = nullptr;
    timer_wait* next_ = nullptr; // the next wait in the circular list waiting_ or posted_
    timer_wait* prev_ = nullptr;
    bool is_due_ = false; // true if the wait must be posted, because the wait has expired or is canceled
    bool is_canceled_ = false;
};

/// The state of a timer. The timer's first wait creates the state. The state exists until the timer, its
/// waits and their handlers have all been destroyed. Thread-safe, except add() and leave(), which only the
/// timer may call. In the child process of a fork(), the functions of a state from the parent process have no
/// effect.
class timer_state final : public timer_wheel::node {
public:
    /// Constructs the state of a timer that `queue` fires. Allocate the state from the recycler, because the
    /// state returns its own memory to the recycler.
    explicit timer_state(timer_queue& queue) noexcept;

    /// Takes ownership of `fresh`. Posts `fresh` when the queue's clock reaches `deadline`, or immediately if
    /// the deadline has passed. All waits until the next cancel() have the same deadline. Abandons `fresh` if
    /// the context has shut down. Throws std::system_error if the context needs a thread and the system
    /// refuses to start a thread. Also throws std::system_error in the child process of a fork(). If add()
    /// throws, the caller still owns `fresh`.
    void add(timer_wait& fresh, std::uint64_t deadline);

    /// Cancels all handlers that have not begun and are not canceled yet. Returns the number of these
    /// handlers. Each counted handler will report operation_canceled. Acquires no lock if all handlers have
    /// begun. Does not wait for the handlers.
    std::size_t cancel() noexcept;
    /// Cancels like cancel(), but only the oldest wait.
    std::size_t cancel_one() noexcept;

    /// Cancels like cancel(), and also cancels waits that begin meanwhile. Returns when no handler runs and
    /// only canceled handlers are left. Everything that the completed handlers did happens before the return.
    /// Does not wait if a handler of this timer makes the call.
    std::size_t cancel_and_wait() noexcept;

    /// Cancels like cancel(), because the timer is destroyed. The caller must not use the state afterwards.
    void leave() noexcept;

    // ---- called by timer_queue when it puts the state into a wheel, and takes it out again

    void wait_in(unsigned part) noexcept { part_ = static_cast<std::uint8_t>(part); }
    [[nodiscard]] unsigned waits_in() const noexcept { return part_; }

    // ---- called by timer_queue after it has taken the state out of the wheel

    /// Posts all waits, because the deadline is reached.
    void fire() noexcept;
    /// Destroys the handlers that have not been posted, because the context shuts down.
    void abandon() noexcept;
    /// Abandons the waiting handlers of each timer of `queue` for which the calling thread is posting waits.
    /// An executor may refuse a wait. If the handler of a refused wait has the last reference to the context,
    /// the context ends while the thread posts.
    static void abandon_what_is_posted_here(const timer_queue& queue) noexcept;

private:
    friend class timer_wait;
    class post_scope;

    /// A circular list of waits, oldest first.
    struct list {
        timer_wait* first = nullptr;

        void append(timer_wait& fresh) noexcept;
        void remove(timer_wait& one) noexcept;
        /// Abandons all waits of the list. The waits must no longer belong to a state.
        void abandon_all() noexcept;
    };
    using lock_guard = std::unique_lock<sys::slow_lock>;

    void drop(timer_wait& dropped) noexcept;
    [[nodiscard]] bool begin(timer_wait& begun) noexcept;
    void end() noexcept;

    // Call these functions with the lock held.
    std::size_t cancel_all() noexcept;
    std::size_t cancel_oldest() noexcept;
    void disarm() noexcept;
    void post_due(lock_guard& guard) noexcept;
    void unlock_and_end(lock_guard& guard) noexcept;
    [[nodiscard]] list take_waiting() noexcept;
    [[nodiscard]] bool is_unused() const noexcept;
    void count_waiting(std::uint32_t now) noexcept;

    [[nodiscard]] bool nobody_waits() const noexcept;
    [[nodiscard]] bool is_of_parent() const noexcept;
    [[nodiscard]] bool is_in_handler() const noexcept;

    timer_queue& queue_;
    list waiting_; // Waits that are not posted yet. The waits that are due come first.
    // The waits that are posted and whose handlers have not begun. Canceled waits come first, except after
    // cancel_one().
    list posted_;
    sys::slow_lock lock_;
    sys::atomic<std::uint32_t> count_{0};   // number of waits in waiting_ and posted_ that are not canceled
    sys::atomic<std::uint32_t> running_{0}; // number of handlers that run now
    const std::uint16_t generation_;        // fork generation of the context
    std::uint8_t part_ = 0;                 // the part of the queue in which the state waits
    bool is_owned_ : 1 = true;              // true while the timer exists
    bool is_armed_ : 1 = false;     // true if the state is in the wheel, or a thread is about to fire it
    bool is_outdated_ : 1 = false;  // true if a thread will call fire(), and this call must do nothing
    bool is_posting_ : 1 = false;   // true while a thread posts the waits that are due
    bool has_sleepers_ : 1 = false; // true once a thread has waited for a change of running_
};

} // namespace ekiden::inline EKIDEN_ABI

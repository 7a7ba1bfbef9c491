/// The state that a timer shares with its pending waits: the list of waits, which of them are canceled, and
/// how many handlers run. timer.md explains the protocol and proves it.
///
/// Part: timer. Used by: basic_waitable_timer (owns one from its first wait on), timer_queue (fires it).
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

/// One wait for a timer. It is the task that calls the handler. The state owns it until it is posted. Then
/// the executor owns it, and the state still refers to it until the handler begins.
class timer_wait : public task {
public:
    /// Lies on the stack of the thread that runs the handler. It exists from before the handler begins until
    /// after the handler has returned.
    class run_scope {
    public:
        /// The handler begins. A cancel after this does not count it. The memory of the wait may be freed
        /// afterwards.
        explicit run_scope(timer_wait& begun) noexcept;
        /// The handler has returned, and its variables have been destroyed.
        ~run_scope();
        run_scope(const run_scope&) = delete;
        run_scope& operator=(const run_scope&) = delete;

        /// Returns whether the handler must report operation_canceled.
        [[nodiscard]] bool is_canceled() const noexcept { return is_canceled_; }

    private:
        friend class timer_state;
        timer_state& state_;
        const run_scope* const outer_; // the enclosing one in this thread
        const bool is_canceled_;
    };

protected:
    /// `post` passes the wait to the handler's executor. It never runs the handler before it returns.
    timer_wait(function answer, void (*post)(timer_wait&) noexcept) noexcept : task(answer), post_(post) {}
    ~timer_wait() = default;

    /// The wait will not run. Call this before the handler is destroyed.
    void drop() noexcept;

private:
    friend class timer_state;

    void (*const post_)(timer_wait&) noexcept;
    timer_state* state_ = nullptr;
    timer_wait* next_ = nullptr; // in waiting_ or posted_ of the state, which are circular lists
    timer_wait* prev_ = nullptr;
    bool is_due_ = false; // expired or canceled, so it must be posted
    bool is_canceled_ = false;
};

/// The state of a timer. The timer's first wait creates it. It exists until the timer, its waits and their
/// handlers have all been destroyed. Thread-safe, except add() and leave(), which only the timer may call. In
/// a child of fork() that did not create it, its functions have no effect.
class timer_state final : public timer_wheel::node {
public:
    /// For a timer of the queue's context. Allocated from the recycler. It returns its own memory.
    explicit timer_state(timer_queue& queue) noexcept;

    /// Takes ownership of `fresh`. Posts it when the queue's clock reaches `deadline`, or immediately if that
    /// has passed. All waits until the next cancel() have the same deadline. Abandons `fresh` if the context
    /// has shut down. Throws std::system_error if the context needs a thread and the system refuses to start
    /// one, and in the child of a fork(). If it throws, the caller still owns `fresh`.
    void add(timer_wait& fresh, std::uint64_t deadline);

    /// Cancels all handlers that have not begun. Returns their number: these handlers will report
    /// operation_canceled because of this call. Takes no lock if there are none. Does not wait for the
    /// handlers.
    std::size_t cancel() noexcept;
    /// Like cancel(), but only for the oldest wait.
    std::size_t cancel_one() noexcept;

    /// Like cancel(), but also cancels waits that begin meanwhile. Returns at a moment when no handler runs,
    /// and only canceled handlers are left. Everything that the handlers did is visible then. If a handler of
    /// this timer calls it, it does not wait.
    std::size_t cancel_and_wait() noexcept;

    /// The timer is destroyed. Like cancel(), and the caller does not use the state afterwards.
    void leave() noexcept;

    // ---- called by timer_queue after it has taken the state out of the wheel

    /// The deadline is reached.
    void fire() noexcept;
    /// The context shuts down. Destroys the handlers that have not been posted.
    void abandon() noexcept;
    /// Like abandon(), for timers of `queue` whose waits the calling thread is posting in an outer call. This
    /// happens if an executor refuses a handler that has the last reference to the context.
    static void abandon_what_is_posted_here(const timer_queue& queue) noexcept;

private:
    friend class timer_wait;
    class post_scope;

    /// A circular list of waits, oldest first.
    struct list {
        timer_wait* first = nullptr;

        void append(timer_wait& fresh) noexcept;
        void remove(timer_wait& one) noexcept;
        /// For waits that no longer belong to a state.
        void abandon_all() noexcept;
    };
    using lock_guard = std::unique_lock<sys::slow_lock>;

    void drop(timer_wait& dropped) noexcept;
    [[nodiscard]] bool begin(timer_wait& begun) noexcept;
    void end() noexcept;

    // Call these with the lock held:
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
    list waiting_; // not posted yet; the waits that are due come first
    list posted_;  // posted, but not begun; canceled waits come first, except after cancel_one()
    sys::slow_lock lock_;
    sys::atomic<std::uint32_t> count_{0};   // number of waits in both lists that are not canceled
    sys::atomic<std::uint32_t> running_{0}; // number of handlers that run
    const std::uint16_t generation_;        // of the process that created the queue: see sys/fork.hpp
    bool is_owned_ : 1 = true;              // the timer exists
    bool is_armed_ : 1 = false;     // in the wheel, or a thread has taken it out and is about to fire it
    bool is_outdated_ : 1 = false;  // disarmed after a thread has taken it out: that thread must not fire it
    bool is_posting_ : 1 = false;   // a thread is posting the waits that are due
    bool has_sleepers_ : 1 = false; // a thread has waited for running_
};

} // namespace ekiden::inline EKIDEN_ABI

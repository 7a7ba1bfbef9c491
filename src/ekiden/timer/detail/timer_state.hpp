/// What a timer shares with its pending waits: which there are, whether they are canceled, which handlers
/// run. The protocol and its proof: timer.md.
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

/// One wait for a timer: the task that calls its handler. The state has it until it is posted; then the
/// executor has it, and the state still sees it until it begins.
class timer_wait : public task {
public:
    /// Lies on the stack of the thread that runs the handler, from before its beginning until after its end.
    class run_scope {
    public:
        /// The handler begins now: what has not canceled it by now does not count it. The wait's memory can
        /// go afterwards.
        explicit run_scope(timer_wait& begun) noexcept;
        /// The handler has ended, and so has everything in it.
        ~run_scope();
        run_scope(const run_scope&) = delete;
        run_scope& operator=(const run_scope&) = delete;

        /// Whether the handler is to report operation_canceled.
        [[nodiscard]] bool is_canceled() const noexcept { return is_canceled_; }

    private:
        friend class timer_state;
        timer_state& state_;
        const run_scope* const outer_; // of this thread
        const bool is_canceled_;
    };

protected:
    /// `post` gives the wait to the handler's executor; it never runs the handler before it returns.
    timer_wait(function answer, void (*post)(timer_wait&) noexcept) noexcept : task(answer), post_(post) {}
    ~timer_wait() = default;

    /// It will not run. Before its handler ends.
    void drop() noexcept;

private:
    friend class timer_state;

    void (*const post_)(timer_wait&) noexcept;
    timer_state* state_ = nullptr;
    timer_wait* next_ = nullptr; // in one of the two lists of the state, a ring
    timer_wait* prev_ = nullptr;
    bool is_due_ = false; // expired or canceled: to be posted
    bool is_canceled_ = false;
};

/// Made by the first wait of a timer, and kept until the timer, its waits and their handlers have all ended.
/// Thread-safe, but for add() and leave(), which are the timer's. In the child of a fork() that did not make
/// it, it does nothing.
class timer_state final : public timer_wheel::node {
public:
    /// For a timer of the queue's context; from the recycler, to which it goes back by itself.
    explicit timer_state(timer_queue& queue) noexcept;

    /// Takes `fresh` over: posts it when the queue's clock shows `deadline`, the same for all waits until the
    /// next cancel(); at once if it does already. Abandons it if the context has shut down. Throws
    /// std::system_error if the system gives no thread to a context that needs one, or if this is the child
    /// of a fork(); then `fresh` is the caller's still.
    void add(timer_wait& fresh, std::uint64_t deadline);

    /// How many handlers will report operation_canceled because of this call: all that have not begun. Takes
    /// no lock if there are none. What they do is not waited for.
    std::size_t cancel() noexcept;
    /// The same for the oldest one only.
    std::size_t cancel_one() noexcept;

    /// As cancel(), also for waits that begin meanwhile. Returns at a moment when no handler runs, and none
    /// but canceled ones will; at once inside of one. Their effects are visible then.
    std::size_t cancel_and_wait() noexcept;

    /// The timer has ended: as cancel(), and the caller does not come back.
    void leave() noexcept;

    // ---- for timer_queue, which has taken it out of the wheel

    /// The deadline has come.
    void fire() noexcept;
    /// The context shuts down: destroys the handlers that have not been posted.
    void abandon() noexcept;
    /// The same for timers of `queue` whose waits the calling thread is posting, further out: a handler that
    /// the executor has not taken had the last reference to the context.
    static void abandon_what_is_posted_here(const timer_queue& queue) noexcept;

private:
    friend class timer_wait;
    class post_scope;

    /// A ring of waits, the oldest first.
    struct list {
        timer_wait* first = nullptr;

        void append(timer_wait& fresh) noexcept;
        void remove(timer_wait& one) noexcept;
        /// Of waits that no state has any more.
        void abandon_all() noexcept;
    };
    using lock_guard = std::unique_lock<sys::slow_lock>;

    void drop(timer_wait& dropped) noexcept;
    [[nodiscard]] bool begin(timer_wait& begun) noexcept;
    void end() noexcept;

    // With the lock:
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
    list waiting_; // not posted yet: those that are due first
    list posted_;  // not begun yet: canceled ones first, but for cancel_one()
    sys::slow_lock lock_;
    sys::atomic<std::uint32_t> count_{0};   // waits that are not canceled, in both lists
    sys::atomic<std::uint32_t> running_{0}; // handlers
    const std::uint16_t generation_;        // of the queue: see sys/fork.hpp
    bool is_owned_ : 1 = true;              // by a timer
    bool is_armed_ : 1 = false;             // in the wheel, or taken out by a thread that is about to fire
    bool is_outdated_ : 1 = false;          // a thread that is about to fire must not: disarmed since
    bool is_posting_ : 1 = false;           // some thread posts what is due
    bool has_sleepers_ : 1 = false;         // some thread has waited for running_
};

} // namespace ekiden::inline EKIDEN_ABI

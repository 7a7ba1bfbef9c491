/// A queue between producers and consumers, whose pushes and pops usually take no lock.
///
/// Part: sync. Used by: users. Protocol: sync/detail/channel.md.
///
/// Items are stored in a slot_ring (Vyukov's bounded queue) or a segment_queue (crossbeam's list of
/// segments). A push or a pop that has to wait, waits in a state_lock. So threads and coroutines wait in one
/// queue, with stop tokens, deadlines and select(). A push that adds an item checks one word for waiting
/// pops.
#pragma once

#include <ekiden/sync/detail/segment_queue.hpp>
#include <ekiden/sync/detail/slot_ring.hpp>
#include <ekiden/sync/detail/state_lock.hpp>
#include <ekiden/sync/queue_operations.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/back_off.hpp>
#include <ekiden/sys/mutant.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// The part of a channel that does not depend on the type of the items.
class channel_base {
public:
    channel_base(const channel_base&) = delete;
    channel_base& operator=(const channel_base&) = delete;

    // The states of the lock. In the channels with slots, the state only says for which operation a waiter
    // has found the queue empty or full. The states `pairing` and `wanted` are used by rendezvous only.
    static constexpr std::uint32_t open = 0;        ///< no operation waits
    static constexpr std::uint32_t pops_wait = 1;   ///< no push waits
    static constexpr std::uint32_t pushes_wait = 2; ///< no pop waits
    static constexpr std::uint32_t pairing = 3;     ///< both a push and a pop wait
    static constexpr std::uint32_t wanted = 4;      ///< a pop has been chosen, and gets the item of a push
    static constexpr std::uint32_t closed = 5;      ///< close() has been called

    /// The mask of the states in which a push_step may begin.
    static constexpr state_lock::mask may_push = 1U << open | 1U << pops_wait | 1U << wanted | 1U << closed;
    /// The mask of the states in which a pop_step may begin.
    static constexpr state_lock::mask may_pop = 1U << open | 1U << pushes_wait | 1U << pairing | 1U << closed;

protected:
    explicit channel_base(std::size_t capacity) noexcept
        : capacity_(capacity), lock_({open, 0}, capacity == 0 ? rendezvous_rules : slot_rules) {}
    ~channel_base() = default;

    // The number of times that a thread yields before it sleeps. In a channel for one item, producer and
    // consumer take turns, and a turn takes less time than a yield. So a thread first spins.
#if defined(EKIDEN_CHECKING)
    static constexpr int polls = 0; // so that a model soon reaches the protocol of the waiters
    static constexpr int spins = 0;
#else
    static constexpr int polls = 8;
    static constexpr int spins = 5; // each spin takes twice as long as the one before
#endif
    // The states in which close() may run. A pop that has been chosen must first get its item. settle() must
    // not count a close() as a push or as a pop.
    static constexpr state_lock::mask may_close =
        1U << open | 1U << pops_wait | 1U << pushes_wait | 1U << closed;
    static const state_rules slot_rules;
    static const state_rules rendezvous_rules;

    // The bits of marks_. A waiter sets its bit, and then checks the queue again.
    static constexpr std::uint32_t pop_waits = 1;
    static constexpr std::uint32_t push_waits = 2;

    /// Sets a bit of marks_. The caller is inside the lock.
    void mark(std::uint32_t bit) noexcept {
        // [CQ3] [CQ4] Sequentially consistent: precedes the second check of the queue. Pairs with has_mark().
        marks_.fetch_or(bit, sys::seq_cst);
    }
    /// Called by a push or a pop after it has changed the queue.
    [[nodiscard]] bool has_mark(std::uint32_t bit) const noexcept {
        // [CQ3] [CQ4] Sequentially consistent: follows the change of the queue. Pairs with mark().
        return (marks_.load(sys::seq_cst) & bit) != 0 && !EKIDEN_MUTANT(channel_overlooks_waiters);
    }
    /// Clears a bit of marks_, and runs the operations of the waiters. The caller is outside the lock.
    void serve(std::uint32_t bit) noexcept;
    /// Runs the operations that wait for the state `waiting` to change. The caller is outside the lock.
    void serve_waiters(std::uint32_t waiting) noexcept;

    /// Returns whether a coroutine should pause before it waits. A pause is as long as several operations,
    /// so a small queue would become full or empty meanwhile.
    [[nodiscard]] bool should_pause() noexcept;
    /// Records whether a pause has avoided a wait. After each pause in vain, twice as many waits begin
    /// without a pause.
    void record_pause(bool has_helped) noexcept;

    alignas(sys::isolation) const std::size_t capacity_; // is read together with marks_
    sys::atomic<std::uint32_t> marks_{0};
    // The number of waits that begin without a pause, and in the upper half, the number after the last pause.
    // Relaxed is enough, because a lost update only changes the number of pauses.
    sys::atomic<std::uint32_t> unpaused_{0};
    alignas(sys::isolation) mutable state_lock lock_;
};

/// Makes room for one more item.
template <class T>
void grow(std::vector<T>& to) {
    if (to.size() == to.capacity()) to.reserve(2 * to.size() + 1);
}

} // namespace detail

/// The result of channel::push_range().
struct pushed_range {
    std::size_t count = 0;                    ///< the number of items that were added
    queue_status status = queue_status::done; ///< the reason why the other items were not added
};

/// A first-in-first-out queue for any number of producers and consumers.
///
/// The constructor selects one of three kinds:
///   unbounded
///       A push never waits. Memory is allocated in segments, and is freed when the items are popped.
///   bounded
///       A push waits while `capacity` items are in the channel. All memory is allocated by the constructor.
///   rendezvous
///       The capacity is 0. A push waits until a pop has taken the item.
///
/// Items of one producer are popped in the order in which they were pushed. If several operations wait, they
/// are served in the order of arrival. But an operation that needs not wait may overtake a waiting one.
///
/// In a rendezvous, try_push() adds an item only if a pop waits, and try_pop() removes an item only if a push
/// waits. A push into an unbounded channel can throw std::bad_alloc.
///
/// If a constructor of T throws in a push, the push has no effect. If the move constructor of T throws in a
/// pop, the item has been removed, and is destroyed. In a rendezvous, an exception of the move is thrown by
/// both the push and the pop, and the pop gets no item.
///
/// If the move constructor of T may throw, pushes and close() hold a lock, and run one at a time. Then this
/// constructor must not push into the same channel, and must not close it.
///
/// Thread safety: all members may be called concurrently. The channel must outlive every call.
/// Ordering: a push happens before the pop of the pushed item. The close of the channel happens before each
/// pop that returns `closed`, and before each is_closed() that returns true.
template <class T>
class channel : public detail::channel_base, public queue_operations<channel<T>, T> {
    using base = detail::channel_base;

public:
    /// The capacity of an unbounded channel.
    static constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

    /// Constructs a channel with room for `capacity` items. If `capacity` is 0, the channel is a rendezvous.
    /// If `capacity` is `unbounded`, the channel has no bound. Throws std::bad_alloc.
    explicit channel(std::size_t capacity = unbounded) : base(capacity) {
        if (capacity == unbounded)
            std::construct_at(std::addressof(queue_.segments));
        else if (capacity != 0)
            std::construct_at(std::addressof(queue_.ring), capacity);
    }
    /// Destroys the items that are still in the channel.
    ~channel() {
        if (capacity_ == unbounded)
            std::destroy_at(std::addressof(queue_.segments));
        else if (capacity_ != 0)
            std::destroy_at(std::addressof(queue_.ring));
    }

    /// Moves the items of `items` into the channel, in order, like push(item, limit). Returns how many items
    /// were added, and the status of the last push. If the status is not `done`, the other items are
    /// unchanged. If a push throws, the items before it have been added.
    [[nodiscard]] pushed_range push_range(std::span<T> items, const wait_limit& limit = wait_limit()) {
        pushed_range result;
        for (T& item : items) {
            result.status = this->push(std::move(item), limit);
            if (result.status != queue_status::done) break;
            ++result.count;
        }
        return result;
    }
    /// Waits for an item like pop(limit), and appends it to `to`. Then also appends the items that are there,
    /// up to `most` items in all. Returns `done` if an item was appended, or if `most` is 0. Otherwise,
    /// returns the status of the pop. Throws std::bad_alloc before an item is removed.
    [[nodiscard]] queue_status pop_up_to(std::vector<T>& to, std::size_t most,
                                         const wait_limit& limit = wait_limit()) {
        if (most == 0) return queue_status::done;
        detail::grow(to);
        popped<T> item = this->pop(limit);
        if (!item) return item.status();
        to.push_back(*std::move(item));
        pop_available(to, most - 1);
        return queue_status::done;
    }
    /// Appends the items that are in the channel to `to`, up to `most` items, without waiting. Throws
    /// std::bad_alloc before the item for which memory is missing is removed.
    void pop_available(std::vector<T>& to, std::size_t most) {
        for (; most > 0; --most) {
            detail::grow(to);
            popped<T> item = this->try_pop();
            if (!item) return;
            to.push_back(*std::move(item));
        }
    }

    /// Closes the channel. No item can be added to a closed channel. Waiting pushes return `closed`. A
    /// waiting pop returns `closed` when no item is left. Has no effect if the channel is closed already.
    void close() noexcept {
        if (capacity_ == unbounded)
            queue_.segments.close();
        else if (capacity_ != 0)
            queue_.ring.close();
        lock_.apply(EKIDEN_MUTANT(channel_closes_between_partners) ? state_lock::any_state : may_close,
                    [](state_value) noexcept { return state_value{closed, 0}; });
    }
    /// Returns whether close() has been called. After a call has returned true, all later calls in the same
    /// thread return true.
    [[nodiscard]] bool is_closed() const noexcept {
        return capacity_ == unbounded ? queue_.segments.is_closed()
               : capacity_ != 0       ? queue_.ring.is_closed()
                                      : lock_.is_in(1U << closed);
    }

    /// Returns the number of items that the channel has room for. Returns `unbounded` if there is no bound,
    /// and 0 for a rendezvous.
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    /// Returns the number of items that the channel holds at some moment during the call.
    [[nodiscard]] std::size_t size() const noexcept {
        return capacity_ == unbounded ? queue_.segments.size() : capacity_ != 0 ? queue_.ring.size() : 0;
    }

    /// The common base class of push_step and pop_step. A step first runs outside the lock.
    struct step_base : detail::queue_step {
        channel& to;

        explicit step_base(channel& c) noexcept : to(c) {}
        /// Like should_pause() and record_pause() of the channel.
        [[nodiscard]] bool should_pause() noexcept { return to.should_pause(); }
        void record_pause(bool has_helped) noexcept { to.record_pause(has_helped); }

    protected:
        bool is_over(taken_from result) noexcept {
            this->ended = result == taken_from::closed;
            return result != taken_from::none;
        }
    };
    struct push_step : step_base {
        T& item;
        bool passes_on = false; ///< the step belongs to a thread, which calls pass_on() after its wait

        push_step(channel& c, T& i) noexcept : step_base(c), item(i) {}

        /// Runs the step outside the lock. Returns false, and has no effect, if the step must wait.
        [[nodiscard]] bool try_now() noexcept {
            const taken_from result = run();
            if (result == taken_from::done && this->to.has_mark(pop_waits)) [[unlikely]]
                this->to.serve(pop_waits);
            return this->is_over(result);
        }
        /// Runs the step inside the lock.
        state_value operator()(state_value now) noexcept {
            channel& c = this->to;
            if (c.capacity_ == 0) {
                if (now.state == closed) this->ended = true;
                if (now.state == closed) return now;
                if (now.state != wanted) return {open | state_value::refused, 0};
                hand_over(*c.taker_);
                return {open, 0};
            }
            if (this->is_over(run())) return after_push(now);
            c.mark(push_waits);
            if (!EKIDEN_MUTANT(channel_checks_once) && this->is_over(run())) return after_push(now);
            return {pushes_wait | state_value::refused, 0};
        }
        /// Serves the other waiting pushes, if this is the turn of the step. Called outside the lock.
        void pass_on() noexcept {
            if (has_turn_ && !EKIDEN_MUTANT(channel_keeps_its_turn)) this->to.serve_waiters(pushes_wait);
        }

    private:
        // If the step belongs to a thread, the other pushes wait until this thread runs. Until then, pops
        // make room for more items, so fewer threads are woken.
        state_value after_push(state_value now) noexcept {
            if (!passes_on || now.state == closed) return after(now);
            has_turn_ = true;
            return {pushes_wait, 0};
        }
        taken_from run() noexcept {
            channel& c = this->to;
            try {
                if (c.capacity_ == unbounded) return c.queue_.segments.push(item);
                return c.capacity_ != 0 ? c.queue_.ring.push(item) : taken_from::none;
            } catch (...) {
                this->error = std::current_exception();
                return taken_from::done;
            }
        }
        void hand_over(auto& taker) noexcept {
            try {
                taker.item.emplace(std::move(item));
            } catch (...) {
                this->error = taker.error = std::current_exception();
            }
        }

        bool has_turn_ = false;
    };
    struct pop_step : step_base {
        std::optional<T>& item;

        pop_step(channel& c, std::optional<T>& i) noexcept : step_base(c), item(i) {}

        /// Runs the step outside the lock. Returns false, and has no effect, if the step must wait.
        [[nodiscard]] bool try_now() noexcept {
            const taken_from result = run();
            if (result == taken_from::done && this->to.capacity_ != unbounded
                && this->to.has_mark(push_waits)) [[unlikely]]
                this->to.serve(push_waits);
            return this->is_over(result);
        }
        /// Runs the step inside the lock.
        state_value operator()(state_value now) noexcept {
            channel& c = this->to;
            if (c.capacity_ == 0) {
                if (now.state == closed) this->ended = true;
                if (now.state == closed) return now;
                if (now.state != pairing) return {open | state_value::refused, 0};
                c.taker_ = this;
                return {wanted, 0};
            }
            if (this->is_over(run())) return after(now);
            c.mark(pop_waits);
            if (!EKIDEN_MUTANT(channel_checks_once) && this->is_over(run())) return after(now);
            return {pops_wait | state_value::refused, 0};
        }

    private:
        taken_from run() noexcept {
            channel& c = this->to;
            try {
                if (c.capacity_ == unbounded) return c.queue_.segments.pop(item);
                return c.capacity_ != 0 ? c.queue_.ring.pop(item) : taken_from::none;
            } catch (...) {
                this->error = std::current_exception();
                return taken_from::done;
            }
        }
    };

private:
    friend struct detail::lock_access;
    friend class queue_operations<channel, T>;
    [[nodiscard]] state_lock& core() noexcept { return lock_; }

    // After a step has run inside the lock, each waiter tries again.
    static state_value after(state_value now) noexcept { return now.state == closed ? now : state_value{}; }

    template <class Step>
    queue_status finish(state_lock::mask states, Step& step) {
        return step.try_now() ? step.outcome() : finish(states, step, wait_limit());
    }
    template <class Step>
    queue_status finish(state_lock::mask states, Step& step, const wait_limit& limit) {
        if (step.try_now()) return step.outcome();
        sys::back_off turn;
        for (int i = 0; i != spins && capacity_ == 1; ++i) {
            turn.wait();
            if (step.try_now()) return step.outcome();
        }
        // A thread that polls finds the item without the lock. In a rendezvous, only the lock shows a
        // partner.
        for (int i = 0; i != polls && capacity_ != 0 && sys::yield_briefly(); ++i) {
            if (step.try_now()) return step.outcome();
        }
        if constexpr (std::is_same_v<Step, push_step>) step.passes_on = true;
        if (lock_.run_refusable(states, step, limit)) {
            if constexpr (std::is_same_v<Step, push_step>) step.pass_on();
            return step.outcome();
        }
        return detail::given_up(limit);
    }
    template <class Step>
    queue_status finish_now(state_lock::mask states, Step& step) {
        if (step.try_now() || (capacity_ == 0 && lock_.try_run_refusable(states, step)))
            return step.outcome();
        return queue_status::would_wait;
    }

    pop_step* taker_ = nullptr; // the pop that gets the next item; used inside the lock of a rendezvous
    union queue {               // empty in a rendezvous
        queue() noexcept {}
        ~queue() {}
        slot_ring<T> ring;         // of a bounded channel
        segment_queue<T> segments; // of an unbounded channel
    };
    queue queue_;
};

} // namespace ekiden::inline EKIDEN_ABI

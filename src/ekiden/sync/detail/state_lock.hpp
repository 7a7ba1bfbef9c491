/// A lock with named states. A thread that enters the lock names the states in which it may enter. A thread
/// that leaves the lock names the next state.
///
/// Part: sync. Used by: every lock of this part except spin_mutex. A state_mutex is a typed interface of a
/// state_lock. Protocol: sync/detail/state_lock.md.
///
/// The design follows abstract-state synchronization (Ohki and Kuno, IPSJ). The condition for which a thread
/// waits is a set of states. So the lock can check this condition, and wakes the thread only if the condition
/// holds. A state_lock differs from the lock of Ohki and Kuno in these points:
///   The lock needs no kernel support, because it has its own list of waiters.
///   The atomic step that queues a waiter also checks that the waiter has to wait.
///   A thread that releases the lock runs the operations of waiting threads (delegation).
///   Running threads may overtake a woken thread, but only for a limited time.
///   If waiting threads can be overtaken, the lock wakes only one of these threads at a time.
///   The state may depend on the waiters (settle).
#pragma once

#include <ekiden/sync/detail/waiter.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/back_off.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/mutant.hpp>

#include <bit>
#include <chrono>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {
struct lock_access;
}

/// The rules that all locks of one kind share. The rules must be a constant, because each lock stores only a
/// pointer to its rules.
struct state_rules {
    /// Returns the next state of a lock with the value `value`. The mask `queued` contains all states that
    /// the waiters of the lock wait for. The pointer is null if the state does not depend on the waiters. For
    /// example, settle can return a special state while a writer waits. If settle is called with its own
    /// result, it returns this result unchanged. If no thread waits, settle does not change the state that a
    /// transition returns. If a lock has the function settle, the number of its states is at most
    /// max_settled_states.
    std::uint32_t (*settle)(state_value value, std::uint64_t queued) noexcept = nullptr;

    /// Returns the next state of a lock with the value `value` when one more waiter joins the queue. The mask
    /// `arriving` contains the states that the new waiter waits for. The pointer is null if a new waiter does
    /// not change the state. The result must be the state that settle returns when the new waiter is in the
    /// queue. The new state must not admit a waiter that the state of `value` does not admit.
    std::uint32_t (*close)(state_value value, std::uint64_t arriving) noexcept = nullptr;

    /// The time for which running threads may overtake a waiter. After this time, an exit hands the lock to
    /// the waiter. A time of 0 means strict order, which costs a context switch for each hand-over.
    std::chrono::nanoseconds hand_over_after = std::chrono::microseconds(500);

    /// If true, each exit checks the queue and calls settle. If false, an exit may leave this work to a
    /// thread that was woken and has not run yet.
    bool exact = false;

    /// If true, waiters get the lock in the order of the queue, except the waiters of operations that
    /// continue a section (conduct::continues). This rule requires that hand_over_after is 0.
    bool queue_order = false;

    /// If true, the payload counts arrivals (enter_numbered), and no exit changes the payload.
    bool counts_arrivals = false;

    /// If true, an exit runs the operations of all waiters that the state admits. If false, an exit runs a
    /// limited number of operations, and then wakes a waiter that runs the rest.
    bool serves_all = false;

    /// The number of times that a thread spins before it sleeps. Each time, the thread executes a pause hint
    /// and checks the lock again.
    std::uint16_t spins = 0;
    /// The number of times that a thread yields before it sleeps. After each yield, the thread checks the
    /// lock again. After a slow yield, the thread sleeps instead of yielding again (see sys::yield_briefly).
    std::uint16_t yields = 0;
    /// If true, a thread spins and yields only while no other thread waits. If another thread waits, the
    /// thread sleeps at once.
    bool first_only = false;

    /// The name of the lock in reports.
    const char* name = "a lock";
};

/// The way in which a lock carries out an operation that must wait.
enum class conduct : std::uint8_t {
    /// The operation begins a section. A thread that leaves the lock wakes the waiter, which then tries
    /// again.
    opens,
    /// The operation is a whole section. A thread that leaves the lock runs the operation for the waiter.
    completes,
    /// The operation continues a section that has begun, for example an upgrade. It is carried out like
    /// `completes`, and does not wait for its place in the order of the queue.
    continues,
    /// Like `completes`, but the waiters whose operations were run together are woken together. With fewer
    /// than 8 processors, one system call wakes them. With more, the woken threads wake each other. Each
    /// thread makes the operation at most once in a round.
    completes_together
};

/// The result of an attempt that does not wait.
enum class attempt : std::uint8_t {
    done,
    refused, ///< the state does not admit the operation
    busy     ///< a thread is inside the lock, so the next state is not known yet
};

/// A lock with up to 63 states.
///
/// Thread safety: all members may be called concurrently. An exit does not access the lock after other
/// threads can see the effect of the exit. So a thread may destroy the lock when the thread has seen the
/// effect of every call.
class state_lock {
public:
    using mask = std::uint64_t; ///< a set of states; bit i stands for state i

    /// The largest number of states of a lock.
    static constexpr unsigned max_states = 63;
    /// The largest number of states of a lock whose rules have the function settle.
    static constexpr unsigned max_settled_states = wait_list::note_bits;
    static constexpr mask any_state = ~mask{0};

private:
    // The parts of the word. A table in state_lock.md shows which threads set and clear each part.
    static constexpr unsigned alignment_bits = std::countr_zero(waiter_alignment);
    static constexpr unsigned newest_shift = 64 - (waiter_address_bits - alignment_bits);
    static constexpr unsigned state_shift = 4;
    static constexpr unsigned payload_shift = 10;
    static constexpr std::uint64_t locked = 1;  // a thread is inside the lock, or decides the next state
    static constexpr std::uint64_t listing = 2; // a thread is changing list_
    static constexpr std::uint64_t queued = 4;  // set if list_ is not empty, or if `waking` is set
    static constexpr std::uint64_t waking = 8;  // a waiter was woken, and has not tried again yet

    // The address of the newest waiter that is not in list_ yet. Each new waiter links to the previous one.
    static constexpr std::uint64_t newest = ~std::uint64_t{0} << newest_shift;
    static constexpr std::uint64_t state_bits = std::uint64_t{63} << state_shift;
    static constexpr std::uint64_t payload_bits = ~newest >> payload_shift << payload_shift;

public:
    static constexpr unsigned max_payload = static_cast<unsigned>(payload_bits >> payload_shift);

    /// The default rules: running threads may overtake a waiter for 500 us.
    static const state_rules overtaking;
    /// Rules for strict order: an exit hands the lock to the oldest waiter that the state admits.
    static const state_rules strict;

    // If a function below has a parameter `limit`, a call without this argument always returns true.

    /// `rules` must outlive the lock.
    constexpr explicit state_lock(state_value initial = {}, const state_rules& rules = overtaking) noexcept
        : word_(pack(initial)), rules_(&rules) {}
    state_lock(state_value, const state_rules&&) = delete;
    state_lock(const state_lock&) = delete;
    state_lock& operator=(const state_lock&) = delete;
    ~state_lock();

    /// Enters the lock. Waits until no thread is inside and the state is one of `states`. The exit that set
    /// this state happens before the return of the call. Returns false if `limit` was reached first. In that
    /// case, the call has had no effect.
    bool enter(mask states, const wait_limit& limit = never_) noexcept {
        return enter_now(states) || enter_slow(states, limit, false).granted;
    }
    /// Enters a lock whose only state is 0, like enter(). Sets `locked` without reading the word first.
    void enter_only() noexcept {
        // [SL1] Acquire. Pairs with the release in exit(). If another thread is inside, the step changes
        // nothing.
        if ((word_.fetch_or(locked, sys::acquire) & locked) != 0) [[unlikely]]
            enter(1);
    }
    /// Enters the lock without waiting. Returns false if a thread is inside, or if the state is not one of
    /// `states`.
    [[nodiscard]] bool try_enter(mask states) noexcept { return enter_now(states); }

    struct numbered_result {
        bool granted;
        std::uint32_t number;
    };
    /// Enters the lock like enter(). The rules of the lock must count arrivals. Also returns the number of
    /// the arrival, modulo max_payload + 1. The caller gets its number in the step in which it enters or
    /// joins the queue. If a caller joins the queue and then gives up, its number is not used again.
    numbered_result enter_numbered(mask states, const wait_limit& limit = never_) noexcept {
        std::uint64_t word = word_.load(sys::relaxed);
        while ((word & locked) == 0 && in(states, word)) {
            const std::uint64_t next = count_arrival(word | locked);
            // [SL1] Acquire. Pairs with the release in exit().
            if (word_.compare_exchange_weak(word, next, sys::acquire, sys::relaxed))
                return {true, value_of(word).payload};
        }
        return enter_slow(states, limit, true);
    }

    /// Leaves the lock and sets the state to `next`. The payload is unchanged. The caller must be inside the
    /// lock.
    void exit(std::uint32_t next) noexcept { leave(word_.load(sys::relaxed), next); }
    /// Leaves the lock and sets the state and the payload to `next`. The caller must be inside the lock.
    void exit(state_value next) noexcept { leave(word_.load(sys::relaxed), next); }

    /// Returns the value of the lock. The caller must be inside the lock.
    [[nodiscard]] state_value value() const noexcept { return value_of(word_.load(sys::relaxed)); }

    /// Waits until no thread is inside and the state is one of `states`. Then replaces the value of the lock
    /// by `change(value)`. The change must be a pure function: it may run several times, in any thread, and
    /// only the last result is used. If no thread waits, or if the change leaves the state unchanged, apply()
    /// is one atomic step. The exit that set the old value happens before the last run of the change. Returns
    /// false if `limit` was reached first. In that case, the call has had no effect. Callable:
    /// state_value(state_value) noexcept.
    template <class Change>
    bool apply(mask states, Change change, conduct how = conduct::completes,
               const wait_limit& limit = never_) noexcept {
        const attempt first =
            how == conduct::completes_together ? apply_together(states, change) : apply_now(states, change);
        return first == attempt::done
               || transition_slow(states, &call<Change>, std::addressof(change), true, how, limit);
    }
    /// Replaces the value by `change(value)` like apply(), but does not wait for a state. A thread that
    /// holds, for example, an rw_mutex calls this function to release the rw_mutex. While the thread holds
    /// the rw_mutex, the state is one of `states`. If the state is not one of `states`, the thread does not
    /// hold the rw_mutex. In that case, the program ends with the message `otherwise`.
    template <class Change>
    void apply_held(mask states, Change change, const char* otherwise) noexcept {
        if (apply_now(states, change) != attempt::done) [[unlikely]]
            apply_held_slow(states, change, otherwise);
    }
    /// Replaces the value by `change(value)` like apply(), but does not wait.
    template <class Change>
    [[nodiscard]] attempt try_apply(mask states, Change change) noexcept {
        const attempt result = apply_now(states, change, shortest_pause);
        if (result != attempt::busy || (word_.load(sys::relaxed) & locked) != 0) return result;
        return try_run(states, change); // this call enters the lock, because waiters must be served
    }

    // The length of a pause, in calls of sys::spin_hint().
    static constexpr unsigned shortest_pause = 8;
    static constexpr unsigned longest_pause = 512; // about 12 us

    /// Adds `By` to the payload in one step, without waiting. State 0 must mean that the payload is 0, and
    /// state 1 must mean that the payload is not 0. The call orders memory like apply(). Returns false, and
    /// has no effect, in these cases:
    ///   Another thread is inside the lock.
    ///   The state is neither 0 nor 1.
    ///   The new payload would be below 0 or above `most`.
    ///   The state would change while there are waiters.
    /// If another thread changes the word at the same time, the call pauses and tries again. `longest` is the
    /// length of the longest pause. A call that must not wait passes shortest_pause.
    template <int By>
    [[nodiscard]] bool try_count(std::uint32_t most, unsigned longest = longest_pause) noexcept {
        static_assert(By != 0);
        attempt result{};
        if (!count_once<By>(most, result)) [[unlikely]]
            result = again([=, this](attempt& last) noexcept { return count_once<By>(most, last); }, longest);
        return result == attempt::done;
    }

    /// Waits until no thread is inside and the state is one of `states`. Then runs `change(value)` once,
    /// inside the lock, and sets the value of the lock to the result. If the caller has to wait, a thread
    /// that leaves the lock runs the change. The change must be short, must not throw, and must not use this
    /// lock. Returns false if `limit` was reached first. In that case, the change has not run and will not
    /// run. Callable: state_value(state_value) noexcept.
    template <class Change>
    bool run(mask states, Change&& change, conduct how = conduct::completes,
             const wait_limit& limit = never_) noexcept {
        return run_now(states, change) == attempt::done
               || transition_slow(states, &call<std::remove_reference_t<Change>>, context(change), false, how,
                                  limit);
    }
    /// Runs `change` like run(), but does not wait.
    template <class Change>
    [[nodiscard]] attempt try_run(mask states, Change&& change) noexcept {
        return run_now(states, change);
    }

    /// Runs `change` like run(), but the change may refuse. A change refuses if the state of the lock is only
    /// a hint, and if data outside the lock shows that the operation must wait. The change then returns a
    /// state with the bit state_value::refused, and has no effect. The caller joins the queue, or stays in
    /// it, in the step that sets this state. The state must not be one of `states`, unless the rules of the
    /// lock have the function settle. In this case, the settled state must not be one of `states`.
    template <class Change>
    bool run_refusable(mask states, Change& change, const wait_limit& limit = never_) noexcept {
        return transition_slow(states, &call<Change>, context(change), false, conduct::completes, limit);
    }
    /// Runs `change` like run_refusable(), but waits only while another thread is inside the lock. Returns
    /// false if the operation would have to wait. In this case, the operation has had no effect.
    template <class Change>
    [[nodiscard]] bool try_run_refusable(mask states, Change& change) noexcept {
        return try_transition(states, &call<Change>, context(change));
    }

    /// Waits until the state is one of `states`. The call does not change the lock. Threads that wait in
    /// pass() for the same state are released together. Returns false if `limit` was reached first.
    bool pass(mask states, const wait_limit& limit = never_) noexcept {
        return is_in(states)
               || transition_slow(states, &unchanged, nullptr, true, conduct::completes_together, limit);
    }
    /// Returns whether the state is one of `states`. The answer is exact even while a thread is inside,
    /// because a thread changes the state only in the step in which it leaves. The exit that set this state
    /// happens before the return of the call.
    [[nodiscard]] bool is_in(mask states) const noexcept {
        // [SL1] Acquire. Pairs with the release in exit(). If a thread enters after this exit, the entry
        // continues the release sequence of the exit.
        const std::uint64_t word = word_.load(sys::acquire);
        if (EKIDEN_MUTANT(state_lock_query_fails_while_locked) && (word & locked) != 0) return false;
        return in(states, word);
    }
    /// Returns whether the state is one of `states` and no thread is inside. Only the checks of wrong use
    /// call this function.
    [[nodiscard]] bool passes(mask states) const noexcept {
        const std::uint64_t word = word_.load(sys::relaxed); // Relaxed is enough: no data is read afterwards.
        return (word & locked) == 0 && in(states, word);
    }

    /// Starts a wait that blocks no thread. The caller must have set the members mask, resume, context and
    /// transition of `who`. If transition is null, the operation enters the lock. The transition may refuse
    /// (see run_refusable). Returns true if the operation is done at once. In this case, resume is not
    /// called. Otherwise returns false, and `who` stays in the queue until its operation is done or
    /// withdraw() removes `who`. The thread that completes the operation of a queued waiter calls resume
    /// after this thread has left the lock. The function resume must do nothing except post the operation to
    /// an executor. If the post makes the thread leave another lock, the waiters of the other lock are
    /// resumed after the post. Call start() only once for each waiter.
    [[nodiscard]] bool start(waiter& who) noexcept;

    /// Removes a waiter that start() has put into the queue. Any thread may call this function, even while
    /// start() is in progress. The waiter and the lock must exist until the call returns. So if the operation
    /// is resumed meanwhile, the operation must wait until this call has returned.
    [[nodiscard]] withdrawal withdraw(waiter& who) noexcept;
    /// Removes a waiter for which start() has returned false. Returns true if the waiter was removed, and
    /// false if its operation was done.
    [[nodiscard]] bool cancel(waiter& who) noexcept { return withdraw(who) == withdrawal::taken_out; }

    /// Returns the name of the lock in reports.
    [[nodiscard]] const char* name() const noexcept { return rules_->name; }

    /// Returns the largest number of waiters that a release of the lock has found so far. The result is at
    /// most wait_list::max_note. Returns 0 if the rules have the function settle. Any thread may call this
    /// function. The call does not order memory.
    [[nodiscard]] std::size_t longest_queue() const noexcept {
        return rules_->settle == nullptr ? list_.note() : 0;
    }

private:
    template <class Change>
    static state_value call(void* change, state_value value) noexcept {
        return (*static_cast<Change*>(change))(value);
    }
    template <class Change>
    static void* context(Change& change) noexcept {
        return const_cast<void*>(static_cast<const void*>(std::addressof(change)));
    }
    static state_value unchanged(void*, state_value value) noexcept { return value; }

    static constexpr std::uint64_t pack(state_value value) noexcept {
        return std::uint64_t{value.state} << state_shift | std::uint64_t{value.payload} << payload_shift;
    }
    static constexpr std::uint64_t with(std::uint64_t word, state_value value) noexcept {
        return (word & ~(state_bits | payload_bits)) | pack(value);
    }
    static constexpr state_value value_of(std::uint64_t word) noexcept {
        return {static_cast<std::uint32_t>((word & state_bits) >> state_shift),
                static_cast<std::uint32_t>((word & payload_bits) >> payload_shift)};
    }
    static constexpr bool in(mask states, std::uint64_t word) noexcept {
        return ((states >> ((word >> state_shift) & 63)) & 1) != 0;
    }

    // Returns whether a step that changes the state in `word` must check the waiters.
    bool must_serve(std::uint64_t word) const noexcept {
        if ((word & (newest | listing | queued)) == 0) [[likely]]
            return false;
        if (EKIDEN_MUTANT(state_lock_exit_overlooks_newcomers)) return (word & listing) != 0;
        return (word & (newest | listing)) != 0 || (word & waking) == 0 || rules_->exact;
    }

    // Leaves the lock with a new state. `word` is the last value of the word that the caller has read.
    void leave(std::uint64_t word, std::uint32_t next) noexcept {
        while (!must_serve(word)) {
            // [SL1] Release: publishes the work inside the lock. Pairs with the acquires in enter() and
            // apply().
            const std::uint64_t left = (word & ~(locked | state_bits)) | std::uint64_t{next} << state_shift;
            if (word_.compare_exchange_weak(word, left, sys::release, sys::relaxed)) return;
        }
        exit_slow({next, value_of(word).payload});
    }

    // Leaves the lock with a new state and a new payload.
    void leave(std::uint64_t word, state_value next) noexcept {
        while (!must_serve(word)) {
            // [SL1] Release: publishes the work inside the lock. Pairs with the acquires in enter() and
            // apply().
            if (word_.compare_exchange_weak(word, with(word & ~locked, next), sys::release, sys::relaxed))
                return;
        }
        exit_slow(next);
    }

    // The function does not read the word between the entry and the exit, because a read between two atomic
    // steps is expensive. Instead, the compare-exchange of the exit expects the word that the entry has
    // written.
    template <class Change>
    attempt run_now(mask states, Change& change) noexcept {
        std::uint64_t word = word_.load(sys::relaxed);
        do {
            if ((word & locked) != 0) return attempt::busy;
            if (!in(states, word)) return attempt::refused;
            // [SL1] Acquire. Pairs with the release in exit().
        } while (!word_.compare_exchange_weak(word, word | locked, sys::acquire, sys::relaxed));
        leave(word | locked, change(value_of(word)));
        return attempt::done;
    }

    bool enter_now(mask states) noexcept {
        std::uint64_t word = word_.load(sys::relaxed);
        while ((word & locked) == 0 && in(states, word)) {
            // [SL1] Acquire. Pairs with the release in exit().
            if (word_.compare_exchange_weak(word, word | locked, sys::acquire, sys::relaxed)) return true;
        }
        return false;
    }

    // One attempt of apply() or try_apply(). Sets `result`. Returns false if the compare-exchange has failed.
    template <class Change>
    bool apply_once(mask states, Change& change, attempt& result) noexcept {
        // [SL1] Acquire, because the change may read data that an earlier holder has written. Pairs with the
        // release in exit().
        std::uint64_t word = word_.load(sys::acquire);
        result = attempt::busy;
        if ((word & locked) != 0) return true;
        result = attempt::refused;
        if (!in(states, word)) return true;
        const std::uint64_t next = with(word, change(value_of(word)));
        result = attempt::busy;
        if (((word ^ next) & state_bits) != 0 && must_serve(word)) return true;
        result = attempt::done;
        // [SL1] Acquire and release, because this step both enters and leaves the lock.
        return word_.compare_exchange_weak(word, next, sys::acq_rel, sys::relaxed);
    }
    template <class Change>
    attempt apply_now(mask states, Change& change, unsigned longest = longest_pause) noexcept {
        attempt result{};
        if (!apply_once(states, change, result)) [[unlikely]]
            result =
                again([=, this](attempt& last) mutable noexcept { return apply_once(states, change, last); },
                      longest);
        return result;
    }
    // One attempt of try_count(). Sets `result`. Returns false if the compare-exchange has failed.
    template <int By>
    bool count_once(std::uint32_t most, attempt& result) noexcept {
        constexpr std::uint64_t step = static_cast<std::uint64_t>(By < 0 ? -By : By) << payload_shift;
        constexpr std::uint64_t some = std::uint64_t{1} << state_shift;
        std::uint64_t word = word_.load(sys::relaxed);
        const std::uint64_t payload = word & payload_bits;
        const bool fits = By < 0 ? payload >= step : payload + step <= std::uint64_t{most} << payload_shift;
        result = attempt::refused;
        if (!fits || (word & (locked | (state_bits & ~some))) != 0) return true;
        std::uint64_t next = By < 0 ? word - step : word + step;
        // The state changes if the payload becomes 0 or was 0.
        if (payload == (By < 0 ? step : 0)) {
            if (must_serve(word) && !EKIDEN_MUTANT(state_lock_count_overlooks_waiters)) return true;
            next ^= some;
        }
        result = attempt::done;
        // [SL1] Acquire and release, because this step both enters and leaves the lock.
        return word_.compare_exchange_weak(word, next, sys::acq_rel, sys::relaxed);
    }
    // Repeats `once` until it returns true. Pauses before each attempt. The function is not inlined, so that
    // the first attempt needs no register for the length.
    template <class Once>
    EKIDEN_NOINLINE static attempt again(Once once, unsigned longest) noexcept {
        attempt result{};
        unsigned pause = shortest_pause;
        do pause = sys::growing_pause(pause, longest);
        while (!once(result));
        return result;
    }

    // Like apply_now(), for operations that each thread makes once in a round, such as an arrival at a
    // barrier. No thread makes several steps in a row, so a thread need not step aside.
    template <class Change>
    attempt apply_together(mask states, Change& change) noexcept {
        attempt result{};
        while (!apply_once(states, change, result)) {
        }
        return result;
    }

    template <class Change>
    EKIDEN_NOINLINE void apply_held_slow(mask states, Change change, const char* otherwise) noexcept {
        // The result can be `busy` only while another thread is inside the state_lock, which that thread
        // leaves after a few steps. A thread that holds, for example, an rw_mutex is not inside the
        // state_lock of the rw_mutex.
        for (sys::back_off others;; others.wait()) {
            const attempt result = try_apply(states, change);
            if (result == attempt::done) return;
            if (result == attempt::refused) sys::contract_broken(otherwise);
        }
    }

    static constexpr std::uint64_t count_arrival(std::uint64_t word) noexcept {
        const std::uint64_t counted = (word & payload_bits) + (std::uint64_t{1} << payload_shift);
        return (word & ~payload_bits) | (counted & payload_bits);
    }

    class interrupter;
    enum class wake : std::uint8_t { granted, retry, gave_up };
    enum class taken : std::uint8_t { done, queued, failed };
    static taken done_if(bool changed) noexcept { return changed ? taken::done : taken::failed; }

    numbered_result enter_slow(mask states, const wait_limit& limit, bool numbered) noexcept;
    bool transition_slow(mask states, state_transition change, void* context, bool pure, conduct how,
                         const wait_limit& limit) noexcept;
    bool try_transition(mask states, state_transition change, void* context) noexcept;
    bool wait(waiter& me, const wait_limit& limit) noexcept;
    taken take(waiter& me, std::uint64_t& word, bool woken) noexcept;
    taken join(waiter& me, state_value value) noexcept;
    void poll(const waiter& me) const noexcept;
    bool push(waiter& me, std::uint64_t& word, bool woken) noexcept;
    bool requeue(waiter& me, std::uint64_t& word) noexcept;
    void pass_on() noexcept;
    wake sleep(waiter& me, const wait_limit& limit) noexcept;
    void exit_slow(state_value next) noexcept;
    bool serve_and_leave(state_value next, std::uint64_t word, const waiter* arriving = nullptr) noexcept;
    struct choice;
    waiter* next_for(unsigned state, bool direct_only) const noexcept;
    void choose(choice& chosen, bool wake_on_its_way) noexcept;
    static bool grant(const choice& chosen, const state_lock* lock, const waiter* arriving) noexcept;
    std::uint64_t take_list(bool* lock_too = nullptr) noexcept;
    void gather(std::uint64_t word) noexcept;

    static const wait_limit never_;

    sys::atomic<std::uint64_t> word_;
    // This is a pointer, because a class with a reference member does not have standard layout. The pointer
    // is never null.
    const state_rules* rules_;
    // Only the thread that has set `listing` may change the list. If the rules have the function settle, the
    // note of the list is the mask of the woken waiter while `waking` is set. If the rules do not have
    // settle, the note is the length of the longest queue.
    wait_list list_;
};

} // namespace ekiden::inline EKIDEN_ABI

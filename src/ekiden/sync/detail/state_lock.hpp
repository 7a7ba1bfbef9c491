/// A lock with named states. An entry names the states in which it may begin. An exit names the next state.
///
/// Part: sync. Used by: every lock of this part. state_mutex is its typed interface. Protocol:
/// sync/detail/state_lock.md.
///
/// Source: abstract-state synchronization (Ohki and Kuno, IPSJ). Conditions are data, so no thread is woken
/// to find that its condition does not hold. Differences: the lock needs no kernel support, because the
/// waiters lie in a list of its own. The step that finds the lock closed also pushes the waiter. The releaser
/// runs the transitions of waiters (delegation). Running threads may overtake a woken thread until it has
/// waited for some time. At most one such wake-up is in flight. The state may depend on the waiters (settle).
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

/// The rules of a kind of lock. They are a constant, because locks keep a reference to them.
struct state_rules {
    /// Returns the state that `value` becomes when the queue holds waiters for the states `queued` (a mask).
    /// Null if the state does not depend on the waiters. It turns "a writer waits" into a state. It only
    /// changes the state, and returns its own results unchanged. It also leaves the values that transitions
    /// return unchanged if no thread waits. A lock with such a rule has at most
    /// state_lock::max_settled_states states.
    std::uint32_t (*settle)(state_value value, std::uint64_t queued) noexcept = nullptr;

    /// Returns the state that a settled `value` becomes when one more waiter, for the states `arriving`,
    /// joins the queue. Null if the state stays. It agrees with settle, and it only closes the lock: the new
    /// state admits no waiter that `value` does not admit.
    std::uint32_t (*close)(state_value value, std::uint64_t arriving) noexcept = nullptr;

    /// How long running threads may overtake a waiter before the lock is handed to it. 0 means strict order,
    /// which costs a context switch per hand-over.
    std::chrono::nanoseconds hand_over_after = std::chrono::microseconds(500);

    /// While a wake-up is in flight, an exit may leave the rest of the queue to the woken thread. With
    /// `exact`, each exit checks the queue and settles the state.
    bool exact = false;

    /// Of the waiters that begin a section (conduct::opens), only the oldest may be admitted. Requires
    /// hand_over_after = 0.
    bool queue_order = false;

    /// The payload counts arrivals (enter_numbered), and every exit keeps it.
    bool counts_arrivals = false;

    /// How often a thread checks the lock again before it sleeps: first with a pause hint before each check,
    /// then with a yield. A slow yield is the last one (sys::yield_briefly).
    std::uint16_t spins = 0;
    std::uint16_t yields = 0;
    /// The thread checks again only while no other thread waits. Beside other waiters it sleeps at once.
    bool first_only = false;

    /// The name of the lock in reports.
    const char* name = "a lock";
};

/// How an operation that must wait is carried out.
enum class conduct : std::uint8_t {
    opens,             ///< it begins a section: the waiter is woken and tries again, see hand_over_after
    completes,         ///< it is the whole section: the releaser runs it on behalf of the waiter
    completes_together ///< like completes, and one system call wakes many such waiters
};

/// The result of an attempt that does not wait.
enum class attempt : std::uint8_t {
    done,
    refused, ///< the state does not admit the operation
    busy     ///< a thread is inside at this moment, so the state is not decided
};

/// Thread-safe. An exit touches nothing of the lock after its effect is visible. So a thread may destroy the
/// lock when it has seen the effect of every call. Neither copied nor moved.
class state_lock {
public:
    using mask = std::uint64_t; ///< a set of states, bit i for state i

    static constexpr unsigned max_states = 63;
    static constexpr unsigned max_settled_states = wait_list::note_bits; ///< for rules with settle
    static constexpr mask any_state = ~mask{0};

private:
    // The word (state_lock.md explains the protocol):
    //   bits    name     meaning                               set by           cleared by
    //   0       locked   a thread is inside, or decides        enter, cancel    exit
    //   1       listing  list_ is being changed                exit, cancel     the same thread
    //   2       queued   list_ holds waiters, or waking        listing's owner  listing's owner
    //   3       waking   a woken waiter is on its way back     exit             that waiter
    //   4-9     state    index of the state                    exit, apply      -
    //   10-     payload  the number beside it                  exit, apply      -
    //   others  newest   the newest waiter that is not in      the waiter       listing's owner
    //                    list_, linked to the previous one
    // A thread sets listing for a few steps: a thread that has set locked, or a canceler.
    static constexpr unsigned alignment_bits = std::countr_zero(waiter_alignment);
    static constexpr unsigned newest_shift = 64 - (waiter_address_bits - alignment_bits);
    static constexpr unsigned state_shift = 4;
    static constexpr unsigned payload_shift = 10;
    static constexpr std::uint64_t locked = 1;
    static constexpr std::uint64_t listing = 2;
    static constexpr std::uint64_t queued = 4;
    static constexpr std::uint64_t waking = 8;
    static constexpr std::uint64_t newest = ~std::uint64_t{0} << newest_shift;
    static constexpr std::uint64_t state_bits = std::uint64_t{63} << state_shift;
    static constexpr std::uint64_t payload_bits = ~newest >> payload_shift << payload_shift;

public:
    static constexpr unsigned max_payload = static_cast<unsigned>(payload_bits >> payload_shift);

    /// The default rules: running threads may overtake a waiter for 500 us.
    static const state_rules overtaking;
    /// Hands over to the first waiter in queue order that the state admits.
    static const state_rules strict;

    // In the functions below, a call without a limit always returns true.

    /// `rules` must outlive the lock.
    constexpr explicit state_lock(state_value initial = {}, const state_rules& rules = overtaking) noexcept
        : word_(pack(initial)), rules_(&rules) {}
    state_lock(state_value, const state_rules&&) = delete;
    state_lock(const state_lock&) = delete;
    state_lock& operator=(const state_lock&) = delete;
    ~state_lock();

    /// Waits until no thread is inside and the state is one of `states`. Then the caller is inside. The exit
    /// that set this state happens before. Returns false if `limit` was reached first; then the call has had
    /// no effect.
    bool enter(mask states, const wait_limit& limit = never_) noexcept {
        return enter_now(states) || enter_slow(states, limit, false).granted;
    }
    /// Enters like enter(), for locks with state 0 alone. Sets `locked` without a read of the word before.
    void enter_only() noexcept {
        // [SL1] Acquire. Pairs with the release of exit(). If the lock is locked, the step changes nothing.
        if ((word_.fetch_or(locked, sys::acquire) & locked) != 0) [[unlikely]]
            enter(1);
    }
    /// Enters without waiting. Returns false if a thread is inside or the state is none of `states`.
    [[nodiscard]] bool try_enter(mask states) noexcept { return enter_now(states); }

    struct numbered_result {
        bool granted;
        std::uint32_t number;
    };
    /// Enters like enter(), for rules that count arrivals. Also returns the number of the arrival, modulo
    /// max_payload + 1. The step in which the caller enters or joins the queue takes the number. A caller
    /// that has joined the queue uses up its number even if it gives up.
    numbered_result enter_numbered(mask states, const wait_limit& limit = never_) noexcept {
        std::uint64_t word = word_.load(sys::relaxed);
        while ((word & locked) == 0 && in(states, word)) {
            const std::uint64_t next = count_arrival(word | locked);
            // [SL1] Acquire.
            if (word_.compare_exchange_weak(word, next, sys::acquire, sys::relaxed))
                return {true, value_of(word).payload};
        }
        return enter_slow(states, limit, true);
    }

    /// Leaves with `next` as the new state. The payload stays. The caller must be inside.
    void exit(std::uint32_t next) noexcept { leave(word_.load(sys::relaxed), next); }
    /// Leaves with `next` as the new state and payload. The caller must be inside.
    void exit(state_value next) noexcept { leave(word_.load(sys::relaxed), next); }

    /// Returns the value that the caller, who is inside, has found.
    [[nodiscard]] state_value value() const noexcept { return value_of(word_.load(sys::relaxed)); }

    /// Waits until no thread is inside and the state is one of `states`, and makes the value `change(value)`.
    /// The change is a pure function: it may run several times, in any thread, and only the last result
    /// counts. It takes one atomic step while no thread waits, or if the change keeps the state. Everything
    /// before the lock got its old value happens before the run that counts. Returns false if `limit` was
    /// reached first; then nothing has changed. Callable: state_value(state_value) noexcept.
    template <class Change>
    bool apply(mask states, Change change, conduct how = conduct::completes,
               const wait_limit& limit = never_) noexcept {
        return apply_now(states, change) == attempt::done
               || transition_slow(states, &call<Change>, std::addressof(change), true, how, limit);
    }
    /// Makes the value `change(value)` like apply(), for a change that ends or alters a hold. The hold keeps
    /// the state in `states`, so there is nothing to wait for. If the state is another one, the caller has no
    /// such hold: the program ends with the message `otherwise`.
    template <class Change>
    void apply_held(mask states, Change change, const char* otherwise) noexcept {
        if (apply_now(states, change) != attempt::done) [[unlikely]]
            apply_held_slow(states, change, otherwise);
    }
    /// Makes the value `change(value)` like apply(), without waiting.
    template <class Change>
    [[nodiscard]] attempt try_apply(mask states, Change change) noexcept {
        const attempt result = apply_now(states, change);
        if (result != attempt::busy || (word_.load(sys::relaxed) & locked) != 0) return result;
        return try_run(states, change); // no thread is inside, but there are waiters to serve
    }

    /// Adds `By` to the payload in one step, without waiting. State 0 of the lock must mean that the payload
    /// is 0, and state 1 that it is not. Returns false, and changes nothing, if a thread is inside, if the
    /// state is another one, if the new payload would be below 0 or above `most`, or if the step would have
    /// to check the waiters. Everything before the lock got its value happens before, like in apply().
    template <int By>
    [[nodiscard]] bool try_count(std::uint32_t most) noexcept {
        static_assert(By != 0);
        constexpr std::uint64_t step = static_cast<std::uint64_t>(By < 0 ? -By : By) << payload_shift;
        constexpr std::uint64_t some = std::uint64_t{1} << state_shift;
        for (;; step_aside()) {
            std::uint64_t word = word_.load(sys::relaxed);
            const std::uint64_t payload = word & payload_bits;
            const bool fits =
                By < 0 ? payload >= step : payload + step <= std::uint64_t{most} << payload_shift;
            if (!fits || (word & (locked | (state_bits & ~some))) != 0) return false;
            std::uint64_t next = By < 0 ? word - step : word + step;
            // The state changes if the payload becomes 0 or was 0.
            if (payload == (By < 0 ? step : 0)) {
                if (must_serve(word) && !EKIDEN_MUTANT(state_lock_count_overlooks_waiters)) return false;
                next ^= some;
            }
            // [SL1] Acquire and release: an entry and an exit in one step.
            if (word_.compare_exchange_weak(word, next, sys::acq_rel, sys::relaxed)) [[likely]]
                return true;
        }
    }

    /// Waits until no thread is inside and the state is one of `states`, runs `change(value)` inside, once,
    /// and leaves with the value that it returns. If the caller has to wait, the thread that leaves the lock
    /// runs it. The change must be short, must not throw, and must not use this lock. Returns false if
    /// `limit` was reached first; then `change` has not run and will not. Callable: state_value(state_value)
    /// noexcept.
    template <class Change>
    bool run(mask states, Change&& change, conduct how = conduct::completes,
             const wait_limit& limit = never_) noexcept {
        return run_now(states, change) == attempt::done
               || transition_slow(states, &call<std::remove_reference_t<Change>>, context(change), false, how,
                                  limit);
    }
    /// Runs `change` like run(), without waiting.
    template <class Change>
    [[nodiscard]] attempt try_run(mask states, Change&& change) noexcept {
        return run_now(states, change);
    }

    /// Waits until the state is one of `states`, and changes nothing. All threads that wait like this for a
    /// state are released together. Returns false if `limit` was reached first.
    bool pass(mask states, const wait_limit& limit = never_) noexcept {
        return is_in(states)
               || transition_slow(states, &unchanged, nullptr, true, conduct::completes_together, limit);
    }
    /// Returns whether the state is one of `states`, also while a thread is inside: that thread changes the
    /// state in the step in which it leaves. So the answer is exact. Everything before the lock got this
    /// state happens before.
    [[nodiscard]] bool is_in(mask states) const noexcept {
        // [SL1] Acquire. An entry after the exit that set the state continues that exit's release sequence.
        const std::uint64_t word = word_.load(sys::acquire);
        if (EKIDEN_MUTANT(state_lock_query_fails_while_locked) && (word & locked) != 0) return false;
        return in(states, word);
    }
    /// Returns whether the state is one of `states` and no thread is inside.
    [[nodiscard]] bool passes(mask states) const noexcept {
        // [SL1] Acquire.
        const std::uint64_t word = word_.load(sys::acquire);
        return (word & locked) == 0 && in(states, word);
    }

    /// Starts a wait that blocks no thread. `who` has its mask, resume, context, and its transition or null.
    /// With null, the lock is entered. Returns true if the operation is done at once; then resume is not
    /// called. Returns false if the lock keeps `who` until the releaser, which has left the lock, calls
    /// resume, or until withdraw() takes `who` out. `resume` only posts. If the call leaves another lock, the
    /// waiters served there are resumed after it returns. A waiter is started once.
    [[nodiscard]] bool start(waiter& who) noexcept;

    /// Takes a waiter of start() out, in any thread, also while start() is still in progress. The waiter and
    /// the lock must exist until the call returns: the operation that resume has posted waits for this call.
    [[nodiscard]] withdrawal withdraw(waiter& who) noexcept;
    /// Takes out a waiter for which start() has returned false. Returns true if it was taken out, and false
    /// if it was served.
    [[nodiscard]] bool cancel(waiter& who) noexcept { return withdraw(who) == withdrawal::taken_out; }

    /// Returns the name of the lock in reports.
    [[nodiscard]] const char* name() const noexcept { return rules_->name; }

    /// Returns the length of the longest queue of waiters that a release has found so far, at most
    /// wait_list::max_note. Returns 0 for rules with settle. Any thread may call it. It orders nothing.
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

    // Returns whether a step that changes the state of `word` must check the waiters.
    bool must_serve(std::uint64_t word) const noexcept {
        if ((word & (newest | listing | queued)) == 0) [[likely]]
            return false;
        if (EKIDEN_MUTANT(state_lock_exit_overlooks_newcomers)) return (word & listing) != 0;
        return (word & (newest | listing)) != 0 || (word & waking) == 0 || rules_->exact;
    }

    // Leaves with a new state. `word` is the word of the lock, as read or as a failed step has found it.
    void leave(std::uint64_t word, std::uint32_t next) noexcept {
        while (!must_serve(word)) {
            // [SL1] Release: what the caller did inside. Pairs with the acquires of enter() and apply().
            const std::uint64_t left = (word & ~(locked | state_bits)) | std::uint64_t{next} << state_shift;
            if (word_.compare_exchange_weak(word, left, sys::release, sys::relaxed)) return;
        }
        exit_slow({next, value_of(word).payload});
    }

    // Leaves with a new state and payload.
    void leave(std::uint64_t word, state_value next) noexcept {
        while (!must_serve(word)) {
            // [SL1] Release, like above.
            if (word_.compare_exchange_weak(word, with(word & ~locked, next), sys::release, sys::relaxed))
                return;
        }
        exit_slow(next);
    }

    // The exit expects the word that the entry has left, because a read between two atomic steps is
    // expensive.
    template <class Change>
    attempt run_now(mask states, Change& change) noexcept {
        std::uint64_t word = word_.load(sys::relaxed);
        do {
            if ((word & locked) != 0) return attempt::busy;
            if (!in(states, word)) return attempt::refused;
            // [SL1] Acquire.
        } while (!word_.compare_exchange_weak(word, word | locked, sys::acquire, sys::relaxed));
        leave(word | locked, change(value_of(word)));
        return attempt::done;
    }

    bool enter_now(mask states) noexcept {
        std::uint64_t word = word_.load(sys::relaxed);
        while ((word & locked) == 0 && in(states, word)) {
            // [SL1] Acquire. Pairs with the release of exit().
            if (word_.compare_exchange_weak(word, word | locked, sys::acquire, sys::relaxed)) return true;
        }
        return false;
    }

    template <class Change>
    attempt apply_now(mask states, Change& change) noexcept {
        for (;; step_aside()) {
            // [SL1] Acquire, because the change may depend on what was done before.
            std::uint64_t word = word_.load(sys::acquire);
            if ((word & locked) != 0) return attempt::busy;
            if (!in(states, word)) return attempt::refused;
            const std::uint64_t next = with(word, change(value_of(word)));
            if (((word ^ next) & state_bits) != 0 && must_serve(word)) return attempt::busy;
            // [SL1] Acquire and release: an entry and an exit in one step.
            if (word_.compare_exchange_weak(word, next, sys::acq_rel, sys::relaxed)) [[likely]]
                return attempt::done;
        }
    }

    static void step_aside() noexcept;

    template <class Change>
    [[gnu::noinline]] void apply_held_slow(mask states, Change change, const char* otherwise) noexcept {
        // Another thread is inside for a few steps. A longer hold has another state.
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

    numbered_result enter_slow(mask states, const wait_limit& limit, bool numbered) noexcept;
    bool transition_slow(mask states, state_transition change, void* context, bool pure, conduct how,
                         const wait_limit& limit) noexcept;
    bool wait(waiter& me, const wait_limit& limit) noexcept;
    bool take(waiter& me, std::uint64_t& word, bool woken) noexcept;
    bool push(waiter& me, std::uint64_t& word, bool woken) noexcept;
    bool requeue(waiter& me, std::uint64_t& word) noexcept;
    void pass_on() noexcept;
    wake sleep(waiter& me, const wait_limit& limit) noexcept;
    static sys::atomic<std::uint32_t>& group_word(const state_lock* lock) noexcept;
    void exit_slow(state_value next) noexcept;
    void serve_and_leave(state_value next, std::uint64_t word) noexcept;
    struct choice;
    waiter* next_for(unsigned state, bool direct_only) const noexcept;
    void choose(choice& chosen, bool wake_on_its_way) noexcept;
    static void grant(const choice& chosen, const state_lock* lock) noexcept;
    std::uint64_t take_list(bool* lock_too = nullptr) noexcept;
    void gather(std::uint64_t word) noexcept;

    static const wait_limit never_;

    sys::atomic<std::uint64_t> word_;
    const state_rules* rules_; // never null; a pointer, so that locks have standard layout
    // Only the thread that has set listing may change it. With a settle rule, its note is the mask of the
    // woken waiter while waking is set. Otherwise the note is the length of the longest queue.
    wait_list list_;
};

} // namespace ekiden::inline EKIDEN_ABI

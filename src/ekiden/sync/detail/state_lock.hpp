/// A lock that says its states: to enter names the states in which one may, to leave names the next state.
///
/// Part: sync. Used by: every lock of this part; state_mutex is its typed face. Protocol:
/// sync/detail/state_lock.md.
///
/// Source: abstract-state synchronisation (Ohki and Kuno, IPSJ). Conditions are data, so nobody is woken to
/// find that its condition does not hold. Ours needs no kernel support: the waiters lie in a list of the
/// lock's own. What we changed: a waiter is pushed by the step that saw the lock closed to it; the releaser
/// runs transitions of waiters (delegation); running threads may overtake a woken one until it has waited for
/// some time; at most one such wake-up is on its way; the state may depend on the waiters (settle).
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

/// What a lock's owner chooses once for all its locks of a kind. A constant: locks keep a reference to it.
struct state_rules {
    /// The state that `value` becomes when the queue holds waiters for the states `queued` (a mask), or null.
    /// Turns "a writer waits" into a state. It changes the state alone, gives the same for its own result,
    /// and leaves the values that transitions return as they are while nobody waits. A lock with such a rule
    /// has at most state_lock::max_settled_states states.
    std::uint32_t (*settle)(state_value value, std::uint64_t queued) noexcept = nullptr;

    /// The state that a settled `value` becomes when one more waiter, for the states `arriving`, joins the
    /// queue, or null: unchanged. Agrees with settle, and only closes: the new state admits nobody whom
    /// `value` does not admit.
    std::uint32_t (*close)(state_value value, std::uint64_t arriving) noexcept = nullptr;

    /// How long a waiter may be overtaken by running threads before the lock is handed to it. 0: never
    /// overtaken, which gives strict order at the price of a context switch per hand-over.
    std::chrono::nanoseconds hand_over_after = std::chrono::microseconds(500);

    /// While a wake-up is on its way, others may leave the rest of the queue to the woken thread. With
    /// `exact` they look at the queue, and settle, each time.
    bool exact = false;

    /// Of the waiters that begin something (conduct::opens) only the oldest may be admitted, whatever the
    /// others wait for. Goes with hand_over_after = 0.
    bool queue_order = false;

    /// The payload counts arrivals (enter_numbered) and survives every exit.
    bool counts_arrivals = false;

    /// How often a thread checks the lock again before it sleeps: first with a pause hint before each check,
    /// then with a yield. A slow yield is the last one (sys::yield_briefly).
    std::uint16_t spins = 0;
    std::uint16_t yields = 0;
    /// It does so only while it finds nobody else waiting: with more threads than that they had better sleep.
    bool first_only = false;

    /// What a thread that sleeps here waits for, in reports.
    const char* name = "a lock";
};

/// How an operation that must wait is carried out.
enum class conduct : std::uint8_t {
    opens,             ///< it opens a section: the waiter is woken and tries again, see hand_over_after
    completes,         ///< it is the whole section: the releaser runs it on behalf of the waiter
    completes_together ///< as completes, and many such waiters are woken by one system call
};

/// What became of an attempt that does not wait.
enum class attempt : std::uint8_t {
    done,
    refused, ///< the state does not admit the operation
    busy     ///< somebody is inside at this moment; the state is not decided
};

/// Thread-safe. May be destroyed as soon as no call is in progress whose effect the destroyer has not seen:
/// an exit touches nothing of the lock after its effect is visible. Neither copied nor moved.
class state_lock {
public:
    using mask = std::uint64_t; ///< a set of states, bit i for state i

    static constexpr unsigned max_states = 63;
    static constexpr unsigned max_settled_states = wait_list::note_bits; ///< for rules with settle
    static constexpr mask any_state = ~mask{0};

private:
    // The word; state_lock.md says more:
    //   bits    name     meaning                               set by           cleared by
    //   0       locked   somebody is inside, or decides        enter, cancel    exit
    //   1       listing  list_ is being changed                exit, cancel     the same thread
    //   2       queued   list_ holds waiters, or waking        listing's owner  listing's owner
    //   3       waking   a woken waiter is on its way back     exit             that waiter
    //   4-9     state    index of the state                    exit, apply      -
    //   10-     payload  the number beside it                  exit, apply      -
    //   others  newest   the newest waiter that is not in      the waiter       listing's owner
    //                    list_, linked to the one before
    // listing is held for short: it is taken by a thread that has set locked, and by a canceller.
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

    /// Any running thread may overtake; waits of more than 500 us end in a hand-over.
    static const state_rules overtaking;
    /// Hands over to the first waiter in queue order that the state admits.
    static const state_rules strict;

    /// `rules` must outlive the lock.
    constexpr explicit state_lock(state_value initial = {}, const state_rules& rules = overtaking) noexcept
        : word_(pack(initial)), rules_(&rules) {}
    state_lock(state_value, const state_rules&&) = delete;
    state_lock(const state_lock&) = delete;
    state_lock& operator=(const state_lock&) = delete;
    ~state_lock();

    /// Waits until nobody is inside and the state is one of `states`; then the caller is inside. Sees all
    /// that happened before the exit that set this state.
    void enter(mask states) noexcept {
        if (!enter_now(states)) [[unlikely]]
            enter_slow(states, never_, false);
    }
    /// As enter, unless `limit` is reached first: then false, and the lock is as if the call had not been
    /// made.
    [[nodiscard]] bool enter(mask states, const wait_limit& limit) noexcept {
        return enter_now(states) || enter_slow(states, limit, false).granted;
    }
    /// As enter, without waiting: false if somebody is inside or the state is none of `states`.
    [[nodiscard]] bool try_enter(mask states) noexcept { return enter_now(states); }

    /// For rules that count arrivals: as enter, and returns the arrival's number modulo max_payload + 1.
    /// Numbers are taken in the one step that makes the caller enter or wait.
    std::uint32_t enter_numbered(mask states) noexcept { return enter_numbered(states, never_).number; }

    struct numbered_result {
        bool granted;
        std::uint32_t number;
    };
    /// As enter_numbered, unless `limit` is reached first. A number is used up by whoever waits, granted or
    /// not.
    numbered_result enter_numbered(mask states, const wait_limit& limit) noexcept {
        std::uint64_t word = word_.load(sys::relaxed);
        while ((word & locked) == 0 && in(states, word)) {
            const std::uint64_t next = count_arrival(word | locked);
            // [SL1] acquire.
            if (word_.compare_exchange_weak(word, next, sys::acquire, sys::relaxed))
                return {true, value_of(word).payload};
        }
        return enter_slow(states, limit, true);
    }

    /// Leaves, with `next` as the new state and the payload as it is. The caller is inside.
    void exit(std::uint32_t next) noexcept { leave(word_.load(sys::relaxed), next); }
    /// Leaves, with `next` as the new state and payload.
    void exit(state_value next) noexcept { leave(word_.load(sys::relaxed), next); }

    /// The value as the caller, who is inside, found it.
    [[nodiscard]] state_value value() const noexcept { return value_of(word_.load(sys::relaxed)); }

    /// Waits until nobody is inside and the state is one of `states`, and makes the value `change(value)`.
    /// The change is a pure function: it may run several times, in any thread, and only the last result
    /// counts. Costs one atomic step while nobody is waiting, or if it keeps the state. What happened before
    /// the lock got that value has happened before the run that counts. Callable:
    /// state_value(state_value) noexcept.
    template <class Change>
    void apply(mask states, Change change, conduct how = conduct::completes) noexcept {
        if (apply_now(states, change) != attempt::done) [[unlikely]]
            transition_slow(states, &call<Change>, std::addressof(change), true, how, never_);
    }
    /// As apply, for a change that ends or alters a hold, which keeps the state in `states`: there is nothing
    /// to wait for. If the state is another one, nobody has such a hold: the program ends with the message
    /// `otherwise`.
    template <class Change>
    void apply_held(mask states, Change change, const char* otherwise) noexcept {
        if (apply_now(states, change) != attempt::done) [[unlikely]]
            apply_held_slow(states, change, otherwise);
    }
    /// As apply, unless `limit` is reached first: then false, and nothing has changed.
    template <class Change>
    [[nodiscard]] bool apply(mask states, Change change, conduct how, const wait_limit& limit) noexcept {
        return apply_now(states, change) == attempt::done
               || transition_slow(states, &call<Change>, std::addressof(change), true, how, limit);
    }
    /// As apply, without waiting.
    template <class Change>
    [[nodiscard]] attempt try_apply(mask states, Change change) noexcept {
        const attempt result = apply_now(states, change);
        if (result != attempt::busy || (word_.load(sys::relaxed) & locked) != 0) return result;
        return try_run(states, change); // nobody is inside, but there are waiters to serve
    }

    /// Waits until nobody is inside and the state is one of `states`, runs `change(value)` inside, once, and
    /// leaves with the value that it returns. If the caller had to wait, the thread that leaves the lock runs
    /// it. It must be short, must not throw, and must not touch this lock. Callable: state_value(state_value)
    /// noexcept.
    template <class Change>
    void run(mask states, Change&& change, conduct how = conduct::completes) noexcept {
        if (run_now(states, change) == attempt::done) [[likely]]
            return;
        transition_slow(states, &call<std::remove_reference_t<Change>>, context(change), false, how, never_);
    }
    /// As run, unless `limit` is reached first: then false, and `change` has not run and will not.
    template <class Change>
    [[nodiscard]] bool run(mask states, Change&& change, const wait_limit& limit,
                           conduct how = conduct::completes) noexcept {
        if (run_now(states, change) == attempt::done) return true;
        return transition_slow(states, &call<std::remove_reference_t<Change>>, context(change), false, how,
                               limit);
    }
    /// As run, without waiting.
    template <class Change>
    [[nodiscard]] attempt try_run(mask states, Change&& change) noexcept {
        return run_now(states, change);
    }

    /// Waits until the state is one of `states`, and leaves everything as it is. All that wait like this for
    /// a state are released together.
    void pass(mask states) noexcept {
        if (!is_in(states)) [[unlikely]]
            transition_slow(states, &unchanged, nullptr, true, conduct::completes_together, never_);
    }
    /// As pass, unless `limit` is reached first: then false.
    [[nodiscard]] bool pass(mask states, const wait_limit& limit) noexcept {
        return is_in(states)
               || transition_slow(states, &unchanged, nullptr, true, conduct::completes_together, limit);
    }
    /// Returns whether the state is one of `states`, also while a thread is inside: that thread changes the
    /// state in the step in which it leaves. So the answer is exact. What happened before the lock got this
    /// state has happened before.
    [[nodiscard]] bool is_in(mask states) const noexcept {
        // [SL1] acquire. An entry after the exit that set the state continues that exit's release sequence.
        const std::uint64_t word = word_.load(sys::acquire);
        if (EKIDEN_MUTANT(state_lock_query_fails_while_locked) && (word & locked) != 0) return false;
        return in(states, word);
    }
    /// Returns whether the state is one of `states` and no thread is inside.
    [[nodiscard]] bool passes(mask states) const noexcept {
        // [SL1] acquire.
        const std::uint64_t word = word_.load(sys::acquire);
        return (word & locked) == 0 && in(states, word);
    }

    /// Starts a wait that is not a thread's. `who` has its mask, resume, context, and its transition or null
    /// (then the lock is entered). True: done at once, and resume will not be called. False: `who` stays in
    /// the lock's hands until the releaser, having left the lock, calls resume, or until it is taken back.
    /// resume only posts. If what it calls leaves a lock, those served there are resumed when it returns. A
    /// waiter is started once.
    [[nodiscard]] bool start(waiter& who) noexcept;

    /// Takes a waiter of start back, in any thread, also while start is still at work on it. The caller sees
    /// to it that the waiter and the lock are there meanwhile: what resume has set going waits for the end of
    /// this call before it goes on.
    [[nodiscard]] withdrawal withdraw(waiter& who) noexcept;
    /// The same for a waiter that start has returned false for. True: taken out. False: served.
    [[nodiscard]] bool cancel(waiter& who) noexcept { return withdraw(who) == withdrawal::taken_out; }

    /// What it is, in reports.
    [[nodiscard]] const char* name() const noexcept { return rules_->name; }

    /// The longest queue of waiters that a release of this lock has seen so far; it does not count beyond
    /// wait_list::max_note (at least 65,535). 0 for rules with settle. Any thread. Orders nothing.
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

    // Whether the step that changes the state of `word` must look at the waiters.
    bool must_serve(std::uint64_t word) const noexcept {
        if ((word & (newest | listing | queued)) == 0) [[likely]]
            return false;
        if (EKIDEN_MUTANT(state_lock_exit_overlooks_newcomers)) return (word & listing) != 0;
        return (word & (newest | listing)) != 0 || (word & waking) == 0 || rules_->exact;
    }

    // Leaves; `word` is the lock's, as read or as a failed step found it.
    void leave(std::uint64_t word, std::uint32_t next) noexcept {
        while (!must_serve(word)) {
            // [SL1] release; pairs with the acquires of enter and apply.
            const std::uint64_t left = (word & ~(locked | state_bits)) | std::uint64_t{next} << state_shift;
            if (word_.compare_exchange_weak(word, left, sys::release, sys::relaxed)) return;
        }
        exit_slow({next, value_of(word).payload});
    }

    // The same with a new payload.
    void leave(std::uint64_t word, state_value next) noexcept {
        while (!must_serve(word)) {
            // [SL1] release, as above.
            if (word_.compare_exchange_weak(word, with(word & ~locked, next), sys::release, sys::relaxed))
                return;
        }
        exit_slow(next);
    }

    // The word is read once, and the last step expects what the first one has left: a read between two atomic
    // steps costs nearly a third of such a step.
    template <class Change>
    attempt run_now(mask states, Change& change) noexcept {
        std::uint64_t word = word_.load(sys::relaxed);
        do {
            if ((word & locked) != 0) return attempt::busy;
            if (!in(states, word)) return attempt::refused;
            // [SL1] acquire.
        } while (!word_.compare_exchange_weak(word, word | locked, sys::acquire, sys::relaxed));
        leave(word | locked, change(value_of(word)));
        return attempt::done;
    }

    bool enter_now(mask states) noexcept {
        std::uint64_t word = word_.load(sys::relaxed);
        while ((word & locked) == 0 && in(states, word)) {
            // [SL1] acquire; pairs with the release of exit.
            if (word_.compare_exchange_weak(word, word | locked, sys::acquire, sys::relaxed)) return true;
        }
        return false;
    }

    template <class Change>
    attempt apply_now(mask states, Change& change) noexcept {
        // [SL1] acquire at each read, so that the change may rest on what was done before.
        std::uint64_t word = word_.load(sys::acquire);
        for (;;) {
            if ((word & locked) != 0) return attempt::busy;
            if (!in(states, word)) return attempt::refused;
            const std::uint64_t next = with(word, change(value_of(word)));
            if (((word ^ next) & state_bits) != 0 && must_serve(word)) return attempt::busy;
            // [SL1] acq_rel: an entry and an exit in one step.
            if (word_.compare_exchange_weak(word, next, sys::acq_rel, sys::acquire)) return attempt::done;
        }
    }

    template <class Change>
    [[gnu::noinline]] void apply_held_slow(mask states, Change change, const char* otherwise) noexcept {
        // Another thread is inside for a few steps: a longer stay has another state.
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
    const state_rules* rules_; // never null; no reference, so that locks are of standard layout
    // Belongs to whoever holds listing. Its note is, for rules with settle, what the woken waiter waits for,
    // while waking is set; for others the longest queue.
    wait_list list_;
};

} // namespace ekiden::inline EKIDEN_ABI

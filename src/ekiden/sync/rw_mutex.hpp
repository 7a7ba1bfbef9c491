/// A read-write lock whose fairness is part of its type.
///
/// Part: sync. Used by: users. An rw_mutex is a state_lock with the states and rules of rw_policy.hpp. While
/// no thread waits, each lock and each unlock is one atomic step. While threads wait, a reader still locks or
/// unlocks in one atomic step, unless it is the first or the last reader.
#pragma once

#include <ekiden/sync/detail/lock_note.hpp>
#include <ekiden/sync/rw_policy.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/mutant.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A lock that one writer holds alone, or that several readers hold together.
///
/// Meets the standard's SharedTimedMutex, so it works with std::shared_lock, std::unique_lock and
/// std::condition_variable_any. The lock is not recursive. If a reader locks the lock again while a writer
/// waits, the reader and the writer can wait for each other. An unlock() or a downgrade() ends the program
/// with a message if no writer holds the lock. An unlock_shared() or an upgrade() ends the program with a
/// message if no reader holds the lock. If lock_checks is set, the functions that unlock, upgrade or
/// downgrade check that the calling thread itself holds the lock. If lock_checks is set, the program also
/// ends with a message when a thread would wait for itself, or when a held lock is destroyed.
///
/// Thread safety: all members may be called concurrently. Destroy the lock only when no thread holds the lock
/// or waits for it.
/// Ordering: an unlock happens before each lock that could not succeed before this unlock.
/// Initialization: constant.
template <rw_policy Policy = rw_policy::writer_first>
class rw_mutex {
    using rules = rw_rules<Policy>;

public:
    /// The policy of this lock. The policy decides which waiting thread gets the lock first.
    static constexpr rw_policy policy = Policy;
    /// The largest number of readers that hold the lock together. Further readers wait until a reader leaves.
    static constexpr unsigned max_readers = state_lock::max_payload;

    constexpr rw_mutex() noexcept : lock_({}, rules::rules) {}
    rw_mutex(const rw_mutex&) = delete;
    rw_mutex& operator=(const rw_mutex&) = delete;
    ~rw_mutex() { note_.ended(lock_.name(), !lock_checks || lock_.passes(rules::nobody_inside)); }

    /// Locks for writing. Waits while another thread holds the lock.
    void lock() noexcept {
        note_.wanted(lock_.name(), "lock");
        lock_.apply(rules::writer_enters, begin_writing, conduct::opens);
        note_.taken(sys::hold::alone, lock_.name());
    }
    /// Locks for writing. Gives up when `limit` is reached. Returns whether the lock is held for writing now.
    [[nodiscard]] bool lock(const wait_limit& limit) noexcept {
        return noted(lock_.apply(rules::writer_enters, begin_writing, conduct::opens, limit),
                     sys::hold::alone_tried);
    }
    /// Locks for writing like lock(limit), where the limit is a duration.
    [[nodiscard]] bool try_lock_for(const wait_duration& duration) { return lock(duration); }
    /// Locks for writing like lock(limit), where the limit is a deadline.
    [[nodiscard]] bool try_lock_until(const wait_deadline& deadline) { return lock(deadline); }
    /// Locks for writing without waiting. Returns whether the lock is held for writing now. The call can fail
    /// while another thread is unlocking.
    [[nodiscard]] bool try_lock() noexcept {
        return noted(try_now(rules::writer_enters, begin_writing), sys::hold::alone_tried);
    }
    /// Unlocks. The calling thread must hold the lock for writing.
    void unlock() noexcept {
        note_gone(sys::hold::alone, "unlock");
        end_hold();
    }

    /// Locks for reading. Waits while a writer holds the lock, and while the policy lets other threads enter
    /// first.
    void lock_shared() noexcept {
        if constexpr (lock_checks) check_recursion();
        lock_.apply(rules::reader_enters, begin_reading, conduct::opens);
        note_.taken(sys::hold::shared, lock_.name());
    }
    /// Locks for reading. Gives up when `limit` is reached. Returns whether the lock is held for reading now.
    [[nodiscard]] bool lock_shared(const wait_limit& limit) noexcept {
        return noted(lock_.apply(rules::reader_enters, begin_reading, conduct::opens, limit),
                     sys::hold::shared_tried);
    }
    /// Locks for reading like lock_shared(limit), where the limit is a duration.
    [[nodiscard]] bool try_lock_shared_for(const wait_duration& duration) { return lock_shared(duration); }
    /// Locks for reading like lock_shared(limit), where the limit is a deadline.
    [[nodiscard]] bool try_lock_shared_until(const wait_deadline& deadline) { return lock_shared(deadline); }
    /// Locks for reading without waiting. Returns whether the lock is held for reading now. The call can fail
    /// while another thread is unlocking.
    [[nodiscard]] bool try_lock_shared() noexcept {
        return noted(try_now(rules::reader_enters, begin_reading), sys::hold::shared_tried);
    }
    /// Unlocks. The calling thread must hold the lock for reading.
    void unlock_shared() noexcept {
        note_gone(sys::hold::shared, "unlock_shared");
        end_hold_shared();
    }

    /// Upgrades a shared lock: the calling reader becomes the writer, and no other writer enters in between.
    /// Waits until all other readers have left. Returns false at once if another reader is upgrading. If the
    /// result is false, the caller is still a reader, and must call unlock_shared(). If the caller did not
    /// unlock, the two upgrading readers would wait for each other.
    [[nodiscard]] bool upgrade() noexcept { return upgrade_within(wait_limit(), sys::hold::alone); }
    /// Upgrades a shared lock like upgrade(). Gives up when `limit` is reached. Returns false if the limit
    /// was reached first. Returns false at once if another reader is upgrading. If the result is false, the
    /// caller has been a reader all the time, and is still one. While the caller waits, no new reader enters.
    [[nodiscard]] bool upgrade(const wait_limit& limit) noexcept {
        return upgrade_within(limit, sys::hold::alone_tried);
    }
    /// Upgrades a shared lock like upgrade(limit), where the limit is a duration.
    [[nodiscard]] bool try_upgrade_for(const wait_duration& duration) { return upgrade(duration); }
    /// Upgrades a shared lock like upgrade(limit), where the limit is a deadline.
    [[nodiscard]] bool try_upgrade_until(const wait_deadline& deadline) { return upgrade(deadline); }
    /// Upgrades a shared lock without waiting. Returns false if another reader is inside. If the result is
    /// false, the caller is still a reader.
    [[nodiscard]] bool try_upgrade() noexcept {
        bool alone = false;
        lock_.apply_held(
            rules::reader_inside,
            [&](state_value now) noexcept {
                alone = now.payload == 1 && now.state != static_cast<std::uint32_t>(rw_state::upgrading);
                return alone ? rules::value(rw_state::write) : now;
            },
            "rw_mutex::try_upgrade: no reader is inside");
        if (!alone) return false;
        note_gone(sys::hold::shared, "try_upgrade");
        note_.taken(sys::hold::alone_tried, lock_.name());
        return true;
    }
    /// Downgrades the lock: the calling writer becomes a reader, and no other writer enters in between.
    void downgrade() noexcept {
        note_gone(sys::hold::alone, "downgrade");
        lock_.apply_held(
            rules::any_of(rw_state::write),
            [](state_value) noexcept { return rules::value(rules::reading(1), 1); },
            "rw_mutex::downgrade: no writer is inside");
        note_.taken(sys::hold::shared_tried, lock_.name());
    }

    /// Runs `section()` as a writer. For short sections, run() is cheaper than lock() and unlock(). If the
    /// caller has to wait, a thread that unlocks runs the section on behalf of the caller. Returns when the
    /// section has run, and rethrows what the section throws. The section must not use this lock. If
    /// lock_checks is set and the section uses this lock, the program ends with a message.
    template <class Section>
    void run(Section&& section) {
        note_.wanted(lock_.name(), "run");
        (void)run(wait_limit(), std::forward<Section>(section));
    }
    /// Runs `section()` like run(section). Gives up when `limit` is reached. Returns whether the section has
    /// run. If the result is false, the section has not run and will not run.
    template <class Section>
    [[nodiscard]] bool run(const wait_limit& limit, Section&& section) {
        std::exception_ptr error;
        const bool is_done = lock_.run(
            rules::writer_enters,
            [&](state_value now) noexcept {
                note_.run_inside(lock_.name(), [&]() noexcept {
                    try {
                        std::forward<Section>(section)();
                    } catch (...) {
                        error = std::current_exception();
                    }
                });
                return rules::value(rw_state::free, begin_writing(now).payload);
            },
            conduct::completes, limit);
        note_.served();
        if (error) std::rethrow_exception(std::move(error));
        return is_done;
    }
    /// Runs `section()` like run(limit, section), where the limit is a duration.
    template <class Section>
    [[nodiscard]] bool run_for(const wait_duration& duration, Section&& section) {
        return run(duration, std::forward<Section>(section));
    }
    /// Runs `section()` like run(limit, section), where the limit is a deadline.
    template <class Section>
    [[nodiscard]] bool run_until(const wait_deadline& deadline, Section&& section) {
        return run(deadline, std::forward<Section>(section));
    }

private:
    friend struct detail::lock_access;
    [[nodiscard]] state_lock& core() noexcept { return lock_; }
    static state_value begin_writing(state_value now) noexcept {
        const bool in_turn = now.state == static_cast<std::uint32_t>(rw_state::writer_only);
        return rules::value(rw_state::write, in_turn ? std::min(now.payload + 1, rules::writers_in_turn) : 0);
    }
    static state_value begin_reading(state_value now) noexcept {
        const auto state = static_cast<rw_state>(now.state);
        if (state == rw_state::reader_only) return rules::value(rw_state::readers_turn, 1);
        const std::uint32_t readers = state == rw_state::free ? 1 : now.payload + 1;
        const bool in_turn = state == rw_state::readers_turn && readers < max_readers;
        return rules::value(in_turn ? state : rules::reading(readers), readers);
    }
    void end_hold() noexcept {
        lock_.apply_held(
            rules::any_of(rw_state::write),
            [](state_value now) noexcept { return rules::value(rw_state::free, now.payload); },
            "rw_mutex::unlock: no writer is inside (a reader leaves by unlock_shared)");
    }
    void end_hold_shared() noexcept {
        lock_.apply_held(rules::reader_inside, end_reading,
                         "rw_mutex::unlock_shared: no reader is inside (a writer leaves by unlock)");
    }

    // While the caller waits, the payload does not count the caller as a reader. The last of the other
    // readers sets the state `upgrade`. In this state, only the caller can enter.
    bool upgrade_within(const wait_limit& limit, sys::hold how) noexcept {
        bool first = false;
        bool alone = false;
        lock_.apply_held(
            rules::reader_inside,
            [&](state_value now) noexcept {
                first = now.state != static_cast<std::uint32_t>(rw_state::upgrading);
                alone = first && now.payload == 1;
                if (!first) return now;
                return alone ? rules::value(rw_state::write)
                             : rules::value(rw_state::upgrading, now.payload - 1);
            },
            "rw_mutex::upgrade: no reader is inside");
        if (!first) return false;
        note_gone(sys::hold::shared, "upgrade");
        if (!alone && !lock_.apply(rules::any_of(rw_state::upgrade), begin_writing, conduct::continues, limit)
            && !end_upgrading()) {
            note_.taken(sys::hold::shared_tried, lock_.name());
            return false;
        }
        note_.taken(how, lock_.name());
        return true;
    }
    // Ends an upgrade whose limit was reached. If other readers are still inside, the caller becomes a reader
    // again, and the result is false. If the last of the other readers has left meanwhile, the caller becomes
    // the writer, and the result is true. One atomic step decides between the two cases.
    bool end_upgrading() noexcept {
        bool is_writer = false;
        const state_lock::mask states = EKIDEN_MUTANT(rw_upgrade_overlooks_the_last_reader)
                                            ? rules::any_of(rw_state::upgrading)
                                            : rules::any_of(rw_state::upgrading, rw_state::upgrade);
        lock_.apply_held(
            states,
            [&](state_value now) noexcept {
                is_writer = now.state == static_cast<std::uint32_t>(rw_state::upgrade);
                if (is_writer) return begin_writing(now);
                if (EKIDEN_MUTANT(rw_upgrade_forgets_its_reader))
                    return rules::value(rules::reading(now.payload), now.payload);
                // No new reader has entered during the upgrade, so there is room for the caller. This step
                // changes the state, and therefore also serves the waiting threads.
                return rules::value(rules::reading(now.payload + 1), now.payload + 1);
            },
            "rw_mutex::upgrade: the lock was changed while a reader was upgrading");
        return is_writer;
    }

    static state_value end_reading(state_value now) noexcept {
        const std::uint32_t left = now.payload - 1;
        const auto state = static_cast<rw_state>(now.state);
        if (left > 0) return rules::value(state == rw_state::full ? rw_state::read : state, left);
        if (state == rw_state::drain) return rules::value(rules::after_last_reader);
        if (state == rw_state::readers_turn) return rules::value(rw_state::reader_only);
        return rules::value(state == rw_state::upgrading ? rw_state::upgrade : rw_state::free);
    }

    template <class Change>
    bool try_now(state_lock::mask states, Change change) noexcept {
        for (int tries = 0; tries < 100; ++tries) {
            const attempt result = lock_.try_apply(states, change);
            if (result != attempt::busy) return result == attempt::done;
            sys::spin_hint();
        }
        return false;
    }

    bool noted(bool entered, sys::hold how) noexcept { return note_.taken_if(entered, how, lock_.name()); }
    void note_gone(sys::hold how, const char* operation) noexcept {
        note_.released(how, lock_.name(), operation, lock_checks && lock_.passes(rules::nobody_inside));
    }
    void check_recursion() noexcept {
        const detail::held now = note_.by_this_thread();
        if (now == detail::held::alone || now == detail::held::inside)
            note_.wanted(lock_.name(), "lock_shared");
        if (now == detail::held::no || lock_.is_in(rules::reader_enters)) return;
        if (lock_.is_in(rules::reader_inside))
            sys::contract_broken(
                "rw_mutex::lock_shared: this thread is inside as a reader already, and a writer waits: "
                "each would wait for the other");
    }

    state_lock lock_;
    [[no_unique_address]] detail::lock_note note_;
};

} // namespace ekiden::inline EKIDEN_ABI

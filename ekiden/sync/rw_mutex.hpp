/// A read-write lock whose fairness is part of its type.
///
/// Part: sync. Used by: users. A state_lock with the states and rules of rw_policy.hpp: taking and releasing
/// it is one atomic step each while nobody waits, and for all but the first and the last reader also
/// otherwise.
#pragma once

#include <ekiden/sync/lock_note.hpp>
#include <ekiden/sync/rw_policy.hpp>
#include <ekiden/sys/contract.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// Meets SharedTimedMutex: for std::shared_lock, std::unique_lock, std::condition_variable_any. Not
/// recursive: a reader that enters a second time waits for a writer that waits for it. An unlock happens
/// before the locks that it makes possible. Ready before any constructor runs if it has static storage.
///
/// An unlock() while no writer is inside ends the program with a message, as does an unlock_shared() while no
/// reader is; so do upgrades and downgrades. Where lock_checks is set, the calling thread must be that writer
/// or reader, and the program ends with a message if a thread would wait for itself, or if a lock that is
/// held is destroyed.
template <rw_policy Policy = rw_policy::writer_first>
class rw_mutex {
    using rules = rw_rules<Policy>;

public:
    /// Which of those who wait goes first.
    static constexpr rw_policy policy = Policy;
    /// More readers than this wait until one leaves.
    static constexpr unsigned max_readers = state_lock::max_payload;

    constexpr rw_mutex() noexcept : lock_({}, rules::rules) {}
    rw_mutex(const rw_mutex&) = delete;
    rw_mutex& operator=(const rw_mutex&) = delete;
    ~rw_mutex() { note_.ended(lock_.name(), !lock_checks || lock_.passes(rules::nobody_inside)); }

    void lock() noexcept {
        note_.wanted(lock_.name(), "lock");
        lock_.apply_from(rules::value(rw_state::free), rules::writer_enters, begin_writing, conduct::opens);
        note_.taken(sys::hold::alone, lock_.name());
    }
    /// False if somebody is inside, or may be: a lock that is just being released can look taken.
    [[nodiscard]] bool try_lock() noexcept {
        return noted(try_now(rules::writer_enters, begin_writing), sys::hold::alone_tried);
    }
    void unlock() noexcept {
        note_gone(sys::hold::alone, "unlock");
        end_hold();
    }

    void lock_shared() noexcept {
        if constexpr (lock_checks) check_recursion();
        lock_.apply_from(rules::value(rw_state::free), rules::reader_enters, begin_reading, conduct::opens);
        note_.taken(sys::hold::shared, lock_.name());
    }
    /// False if no reader may enter now; see try_lock.
    [[nodiscard]] bool try_lock_shared() noexcept {
        return noted(try_now(rules::reader_enters, begin_reading), sys::hold::shared_tried);
    }
    void unlock_shared() noexcept {
        note_gone(sys::hold::shared, "unlock_shared");
        end_hold_shared();
    }

    /// False if the limit was reached first: a time, or a stop request.
    [[nodiscard]] bool lock(const wait_limit& limit) noexcept {
        return noted(lock_.apply(rules::writer_enters, begin_writing, conduct::opens, limit),
                     sys::hold::alone_tried);
    }
    [[nodiscard]] bool lock_shared(const wait_limit& limit) noexcept {
        return noted(lock_.apply(rules::reader_enters, begin_reading, conduct::opens, limit),
                     sys::hold::shared_tried);
    }
    /// As lock with a limit: a time.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& duration) {
        return lock(wait_limit::after(duration));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return lock(wait_limit::until(deadline));
    }
    /// As lock_shared with a limit: a time.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& duration) {
        return lock_shared(wait_limit::after(duration));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return lock_shared(wait_limit::until(deadline));
    }

    /// From reader to writer without letting another writer in between. Waits for the other readers to leave.
    /// False, at once and still a reader, if another reader is doing the same: the two would wait for each
    /// other, so this one has to unlock_shared.
    [[nodiscard]] bool upgrade() noexcept {
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
        if (!alone) lock_.apply(rules::any_of(rw_state::upgrade), begin_writing);
        note_.taken(sys::hold::alone, lock_.name());
        return true;
    }
    /// As upgrade, but false, still a reader, if another reader is inside.
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
    /// From writer to reader without letting a writer in between.
    void downgrade() noexcept {
        note_gone(sys::hold::alone, "downgrade");
        lock_.apply_held(
            rules::any_of(rw_state::write),
            [](state_value) noexcept { return rules::value(rules::reading(1), 1); },
            "rw_mutex::downgrade: no writer is inside");
        note_.taken(sys::hold::shared_tried, lock_.name());
    }

    /// Runs `section()` as a writer that holds the inner lock meanwhile: cheaper than lock and unlock for
    /// short sections. If the caller had to wait, the thread that makes room runs it. Returns after it has
    /// run; what it throws is rethrown here. It must not use this lock, which is reported where lock_checks
    /// is set.
    template <class Section>
    void run(Section&& section) {
        note_.wanted(lock_.name(), "run");
        std::exception_ptr error;
        lock_.run(rules::writer_enters, [&](state_value now) noexcept {
            note_.run_inside(lock_.name(), [&]() noexcept {
                try {
                    std::forward<Section>(section)();
                } catch (...) {
                    error = std::current_exception();
                }
            });
            return rules::value(rw_state::free, begin_writing(now).payload);
        });
        note_.served();
        if (error) std::rethrow_exception(std::move(error));
    }

    /// The lock inside and the transitions, for waits that are not a thread's (state_lock::start).
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
    /// What entered through it leaves through these, in any thread: no thread holds the lock.
    void end_hold() noexcept {
        lock_.apply_held_from(
            rules::value(rw_state::write), rules::any_of(rw_state::write),
            [](state_value now) noexcept { return rules::value(rw_state::free, now.payload); },
            "rw_mutex::unlock: no writer is inside (a reader leaves by unlock_shared)");
    }
    void end_hold_shared() noexcept {
        lock_.apply_held_from(rules::value(rw_state::read, 1), rules::reader_inside, end_reading,
                              "rw_mutex::unlock_shared: no reader is inside (a writer leaves by unlock)");
    }

private:
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

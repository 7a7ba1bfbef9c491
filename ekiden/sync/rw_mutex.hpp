/// A read-write lock whose fairness is part of its type.
///
/// Part: sync. Used by: users. A state_lock with the states and rules of rw_policy.hpp: taking and releasing
/// it is one atomic step each while nobody waits, and for all but the first and the last reader also
/// otherwise.
#pragma once

#include <ekiden/sync/held_locks.hpp>
#include <ekiden/sync/rw_policy.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/lock_annotation.hpp>

#include <exception>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// Meets SharedTimedMutex: for std::shared_lock, std::unique_lock, std::condition_variable_any. Not
/// recursive: a reader that enters a second time waits for a writer that waits for it. Where lock_checks is
/// set this is found and reported. An unlock happens before the locks that it makes possible.
template <rw_policy Policy = rw_policy::writer_next>
class rw_mutex {
    using rules = rw_rules<Policy>;

public:
    static constexpr rw_policy policy = Policy;
    /// More readers than this wait until one leaves.
    static constexpr unsigned max_readers = state_lock::max_payload;

    rw_mutex() noexcept : lock_({}, rules::rules) {}

    void lock() noexcept {
        lock_.apply_from(rules::value(rw_state::free), rules::writer_enters, begin_writing, conduct::opens);
        note_.taken(sys::hold::alone);
    }
    /// False if somebody is inside, or may be: a lock that is just being released can look taken.
    [[nodiscard]] bool try_lock() noexcept {
        return sys::taken_if(try_now(rules::writer_enters, begin_writing), note_, sys::hold::alone_tried);
    }
    void unlock() noexcept {
        note_.released(sys::hold::alone);
        lock_.apply_from(rules::value(rw_state::write), rules::any_of(rw_state::write),
                         [](state_value) noexcept { return rules::value(rw_state::free); });
    }

    void lock_shared() noexcept {
        if constexpr (lock_checks) check_recursion();
        lock_.apply_from(rules::value(rw_state::free), rules::reader_enters, begin_reading, conduct::opens);
        note_reader(sys::hold::shared);
    }
    /// False if no reader may enter now; see try_lock.
    [[nodiscard]] bool try_lock_shared() noexcept {
        return noted(try_now(rules::reader_enters, begin_reading));
    }
    void unlock_shared() noexcept {
        note_reader_gone();
        lock_.apply_from(rules::value(rw_state::read, 1), rules::reader_inside, end_reading);
    }

    /// False if the limit was reached first: a time, or a stop request.
    [[nodiscard]] bool lock(const wait_limit& limit) noexcept {
        return sys::taken_if(lock_.apply(rules::writer_enters, begin_writing, conduct::opens, limit), note_,
                             sys::hold::alone_tried);
    }
    [[nodiscard]] bool lock_shared(const wait_limit& limit) noexcept {
        return noted(lock_.apply(rules::reader_enters, begin_reading, conduct::opens, limit));
    }
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& duration) {
        return lock(wait_limit::after(duration));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        return lock(wait_limit::until(deadline));
    }
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
        lock_.apply(rules::reader_inside, [&](state_value now) noexcept {
            first = now.state != static_cast<std::uint32_t>(rw_state::upgrading);
            alone = first && now.payload == 1;
            if (!first) return now;
            return alone ? rules::value(rw_state::write) : rules::value(rw_state::upgrading, now.payload - 1);
        });
        if (!first) return false;
        note_reader_gone();
        if (!alone) lock_.apply(rules::any_of(rw_state::upgrade), begin_writing);
        note_.taken(sys::hold::alone);
        return true;
    }
    /// As upgrade, but false, still a reader, if another reader is inside.
    [[nodiscard]] bool try_upgrade() noexcept {
        bool alone = false;
        lock_.apply(rules::reader_inside, [&](state_value now) noexcept {
            alone = now.payload == 1 && now.state != static_cast<std::uint32_t>(rw_state::upgrading);
            return alone ? rules::value(rw_state::write) : now;
        });
        if (!alone) return false;
        note_reader_gone();
        note_.taken(sys::hold::alone_tried);
        return true;
    }
    /// From writer to reader without letting a writer in between.
    void downgrade() noexcept {
        note_.released(sys::hold::alone);
        lock_.apply(rules::any_of(rw_state::write),
                    [](state_value) noexcept { return rules::value(rules::reading(1), 1); });
        note_reader(sys::hold::shared_tried);
    }

    /// Runs `section()` as a writer that holds the inner lock meanwhile: cheaper than lock and unlock for
    /// short sections. If the caller had to wait, the thread that makes room runs it. Returns after it has
    /// run; what it throws is rethrown here. It must not touch this lock.
    template <class Section>
    void run(Section&& section) {
        std::exception_ptr error;
        lock_.run(rules::writer_enters, [&](state_value) noexcept {
            try {
                std::forward<Section>(section)();
            } catch (...) {
                error = std::current_exception();
            }
            return rules::value(rw_state::free);
        });
        if (error) std::rethrow_exception(std::move(error));
    }

    /// The lock inside and the transitions, for waits that are not a thread's (state_lock::start).
    [[nodiscard]] state_lock& core() noexcept { return lock_; }
    static state_value begin_writing(state_value) noexcept { return rules::value(rw_state::write); }
    static state_value begin_reading(state_value now) noexcept {
        return rules::value(rules::reading(now.payload + 1), now.payload + 1);
    }

private:
    static state_value end_reading(state_value now) noexcept {
        const std::uint32_t left = now.payload - 1;
        const auto state = static_cast<rw_state>(now.state);
        if (left > 0) return rules::value(state == rw_state::full ? rw_state::read : state, left);
        if (state == rw_state::drain) return rules::value(rules::after_last_reader);
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

    bool noted(bool entered) noexcept {
        if (entered) note_reader(sys::hold::shared_tried);
        return entered;
    }
    void note_reader(sys::hold how) noexcept {
        if constexpr (lock_checks) note_held(this);
        note_.taken(how);
    }
    void note_reader_gone() noexcept {
        if constexpr (lock_checks) note_released(this);
        note_.released(sys::hold::shared);
    }
    void check_recursion() noexcept {
        if (!is_held(this) || lock_.passes(rules::reader_enters)) return;
        if (lock_.passes(rules::reader_inside))
            sys::contract_broken(
                "rw_mutex::lock_shared: this thread is inside as a reader already, and a writer waits: "
                "each would wait for the other");
    }

    state_lock lock_;
    [[no_unique_address]] sys::lock_annotation note_;
};

} // namespace ekiden::inline EKIDEN_ABI

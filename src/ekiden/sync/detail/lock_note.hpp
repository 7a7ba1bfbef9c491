/// What a lock tells about itself: to ThreadSanitizer, and to the checks for misuse.
///
/// Part: sync. Used by: the mutexes of this part. Empty, and all of it nothing, unless the program asks for
/// one of the two (EKIDEN_ANNOTATE_LOCKS, EKIDEN_LOCK_CHECKS).
#pragma once

#include <ekiden/context/held_locks.hpp>
#include <ekiden/sys/lock_annotation.hpp>

namespace ekiden::inline EKIDEN_ABI::detail {

/// A member of each lock, with an address of its own among locks. `kind` is the lock's name for messages.
class lock_note {
public:
    /// The calling thread is about to wait for the lock without a limit; it would for ever if it holds it.
    void wanted(const char* kind, const char* operation) const noexcept {
        if constexpr (lock_checks) expect_not_held(this, kind, operation);
    }
    /// The calling thread has taken the lock.
    void taken(sys::hold how, const char* kind) noexcept {
        if constexpr (lock_checks) note_held(this, kind, held_as(how));
        annotation_.taken(how);
    }
    /// Notes that if `is_taken`; returns that.
    bool taken_if(bool is_taken, sys::hold how, const char* kind) noexcept {
        if (is_taken) taken(how, kind);
        return is_taken;
    }
    /// The calling thread is about to give the lock back, which it holds as `how`. `is_free` is looked at
    /// where lock_checks is set.
    void released(sys::hold how, const char* kind, const char* operation, bool is_free) noexcept {
        if constexpr (lock_checks) {
            expect_held(this, kind, held_as(how), operation, is_free);
            note_released(this);
        }
        annotation_.released(how);
    }
    /// Calls `section()` inside the lock, which the section must not use. The section may be that of a thread
    /// that waits.
    template <class Section>
    void run_inside(const char* kind, Section section) noexcept {
        if constexpr (lock_checks) note_held(this, kind, held::inside);
        section();
        if constexpr (lock_checks) note_released(this);
    }
    /// The calling thread has what wanted() said, although it has not taken the lock.
    void served() const noexcept {
        if constexpr (lock_checks) note_served();
    }
    /// The lock ends. `is_free` is read where lock_checks is set.
    void ended(const char* kind, bool is_free) const noexcept {
        if constexpr (lock_checks) expect_free(kind, is_free);
    }
    /// How the calling thread holds it, where lock_checks is set.
    [[nodiscard]] held by_this_thread() const noexcept { return is_held(this); }

private:
    static held held_as(sys::hold how) noexcept {
        return how == sys::hold::shared || how == sys::hold::shared_tried ? held::shared : held::alone;
    }

    [[no_unique_address]] sys::lock_annotation annotation_;
};

} // namespace ekiden::inline EKIDEN_ABI::detail

/// A class that reports the operations of a lock to ThreadSanitizer, and to the checks for misuse of locks.
///
/// Part: sync. Used by: the mutexes of this part. A lock_note is empty and does nothing unless the program
/// defines EKIDEN_ANNOTATE_LOCKS or EKIDEN_LOCK_CHECKS.
#pragma once

#include <ekiden/context/held_locks.hpp>
#include <ekiden/sys/lock_annotation.hpp>

namespace ekiden::inline EKIDEN_ABI::detail {

/// Each lock has a member of this type. The address of this member identifies the lock. The parameter `kind`
/// of the functions is the name of the lock in messages.
class lock_note {
public:
    /// Reports that the calling thread is about to wait for the lock without a limit. If lock_checks is set
    /// and the thread holds the lock already, the program ends with a message.
    void wanted(const char* kind, const char* operation) const noexcept {
        if constexpr (lock_checks) expect_not_held(this, kind, operation);
    }
    /// Reports that the calling thread has acquired the lock.
    void taken(sys::hold how, const char* kind) noexcept {
        if constexpr (lock_checks) note_held(this, kind, held_as(how));
        annotation_.taken(how);
    }
    /// Calls taken() if `is_taken` is true. Returns `is_taken`.
    bool taken_if(bool is_taken, sys::hold how, const char* kind) noexcept {
        if (is_taken) taken(how, kind);
        return is_taken;
    }
    /// Reports that the calling thread is about to release the lock. `how` is the way in which the thread
    /// holds the lock. `is_free` is read only if lock_checks is set.
    void released(sys::hold how, const char* kind, const char* operation, bool is_free) noexcept {
        if constexpr (lock_checks) {
            expect_held(this, kind, held_as(how), operation, is_free);
            note_released(this);
        }
        annotation_.released(how);
    }
    /// Calls `section()`. The caller is inside the lock, so the section must not use the lock. The calling
    /// thread may run the section on behalf of a waiting thread.
    template <class Section>
    void run_inside(const char* kind, Section section) noexcept {
        if constexpr (lock_checks) note_held(this, kind, held::inside);
        section();
        if constexpr (lock_checks) note_released(this);
    }
    /// Reports that the operation for which wanted() was called is done, and that the calling thread has not
    /// acquired the lock.
    void served() const noexcept {
        if constexpr (lock_checks) note_served();
    }
    /// Reports that the lock is being destroyed. `is_free` is read only if lock_checks is set.
    void ended(const char* kind, bool is_free) const noexcept {
        if constexpr (lock_checks) expect_free(kind, is_free);
    }
    /// Returns the way in which the calling thread holds the lock. The result is valid only if lock_checks is
    /// set.
    [[nodiscard]] held by_this_thread() const noexcept { return is_held(this); }

private:
    static held held_as(sys::hold how) noexcept {
        return how == sys::hold::shared || how == sys::hold::shared_tried ? held::shared : held::alone;
    }

    [[no_unique_address]] sys::lock_annotation annotation_;
};

} // namespace ekiden::inline EKIDEN_ABI::detail

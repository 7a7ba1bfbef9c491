/// Reports to ThreadSanitizer which thread holds which lock, if the program is compiled with
/// EKIDEN_ANNOTATE_LOCKS.
///
/// Part: sys. Used by: sync, through lock_note.
///
/// Without annotations, ThreadSanitizer sees only the atomic operations of a lock, and the order that these
/// operations enforce. The tests of the locks run without annotations. With annotations, ThreadSanitizer
/// knows which objects are locks. So ThreadSanitizer also reports lock orders that may deadlock, and an
/// unlock by a thread that does not hold the lock. With annotations, the reports of data races name the locks
/// that were held. Define the macro EKIDEN_ANNOTATE_LOCKS either for the whole program, including the
/// library, or nowhere. Code that was compiled with the macro does not link with code that was compiled
/// without the macro. Without ThreadSanitizer, the annotations do nothing.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstdint>
#include <type_traits>

#if defined(EKIDEN_TSAN) && defined(EKIDEN_ANNOTATE_LOCKS)
#include <sanitizer/tsan_interface.h>
#endif

namespace ekiden::inline EKIDEN_ABI::sys {

/// Says how a thread acquired a lock. ThreadSanitizer checks the order of locks only for calls that cannot
/// fail.
enum class hold : std::uint8_t {
    alone,        ///< the thread holds the lock exclusively, after a call that cannot fail
    alone_tried,  ///< the thread holds the lock exclusively, after a call that can give up
    shared,       ///< the thread holds the lock in shared mode, after a call that cannot fail
    shared_tried, ///< the thread holds the lock in shared mode, after a call that can give up
};

#if defined(EKIDEN_TSAN) && defined(EKIDEN_ANNOTATE_LOCKS)

/// A member of each lock. ThreadSanitizer identifies the lock by the address of this member. ThreadSanitizer
/// records one history for each 8 bytes of memory. So the 8 bytes of this member must not contain an atomic
/// object of the lock.
class lock_annotation {
public:
    /// If the constructor runs at compile time, ThreadSanitizer registers the lock when the lock is first
    /// used.
    constexpr lock_annotation() noexcept {
        if (!std::is_constant_evaluated()) __tsan_mutex_create(this, 0);
    }
    ~lock_annotation() { __tsan_mutex_destroy(this, 0); }
    lock_annotation(const lock_annotation&) = delete;
    lock_annotation& operator=(const lock_annotation&) = delete;

    /// Reports that the calling thread has acquired the lock. Both calls to ThreadSanitizer come after the
    /// acquisition, because ThreadSanitizer ignores memory accesses between the two calls.
    void taken(hold how) noexcept {
        const unsigned flags =
            (how == hold::shared || how == hold::shared_tried ? __tsan_mutex_read_lock : 0U)
            | (how == hold::alone_tried || how == hold::shared_tried ? __tsan_mutex_try_lock : 0U);
        __tsan_mutex_pre_lock(this, flags);
        __tsan_mutex_post_lock(this, flags, 0);
    }
    /// Reports that the calling thread is about to release the lock.
    void released(hold how) noexcept {
        const unsigned flags = how == hold::shared ? __tsan_mutex_read_lock : 0U;
        (void)__tsan_mutex_pre_unlock(this, flags);
        __tsan_mutex_post_unlock(this, flags);
    }

private:
    [[maybe_unused]] std::uint64_t room_ = 0;
};

#else

class lock_annotation {
public:
    void taken(hold) noexcept {}
    void released(hold) noexcept {}
};

#endif

} // namespace ekiden::inline EKIDEN_ABI::sys

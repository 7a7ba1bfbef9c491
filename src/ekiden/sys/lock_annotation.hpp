/// Tells ThreadSanitizer who holds which lock, if the program asks for it.
///
/// Part: sys. Used by: the mutexes of sync, through lock_note.
///
/// ThreadSanitizer sees the atomic steps of a lock, and so what the lock orders: that is how the locks
/// themselves are tested. Compiled with EKIDEN_ANNOTATE_LOCKS it also knows them as locks: it reports orders
/// of locking that may deadlock, an unlock by another thread than the one that locked, and in its reports of
/// races the locks that were held. Define it for all of a program, the library included, or for none of
/// it: the two do not link. In builds without ThreadSanitizer all of this is empty.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstdint>
#include <type_traits>

#if defined(EKIDEN_TSAN) && defined(EKIDEN_ANNOTATE_LOCKS)
#include <sanitizer/tsan_interface.h>
#endif

namespace ekiden::inline EKIDEN_ABI::sys {

/// How a lock was taken.
enum class hold : std::uint8_t {
    alone,        ///< by a call that could not fail, so that its order against other locks matters
    alone_tried,  ///< by a call that could have given up
    shared,       ///< the same for readers
    shared_tried, ///< ...
};

#if defined(EKIDEN_TSAN) && defined(EKIDEN_ANNOTATE_LOCKS)

/// A member of each lock. ThreadSanitizer knows the lock by its address, and keeps one history for 8 bytes:
/// it must not be that of the lock's atomic objects.
class lock_annotation {
public:
    /// ThreadSanitizer makes a lock known at its first use if its constructor ran at compile time.
    constexpr lock_annotation() noexcept {
        if (!std::is_constant_evaluated()) __tsan_mutex_create(this, 0);
    }
    ~lock_annotation() { __tsan_mutex_destroy(this, 0); }
    lock_annotation(const lock_annotation&) = delete;
    lock_annotation& operator=(const lock_annotation&) = delete;

    /// The calling thread has taken the lock. Both notes are made afterwards, since ThreadSanitizer is blind
    /// to what happens between them.
    void taken(hold how) noexcept {
        const unsigned flags =
            (how == hold::shared || how == hold::shared_tried ? __tsan_mutex_read_lock : 0U)
            | (how == hold::alone_tried || how == hold::shared_tried ? __tsan_mutex_try_lock : 0U);
        __tsan_mutex_pre_lock(this, flags);
        __tsan_mutex_post_lock(this, flags, 0);
    }
    /// The calling thread is about to release it.
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

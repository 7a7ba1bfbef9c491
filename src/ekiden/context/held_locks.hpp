/// The locks that the calling thread holds. Used to report misuse that would otherwise be silent, and threads
/// that would wait for themselves. Only used if lock_checks is set.
///
/// Part: context. Used by: sync (its mutexes report what they do), future (a wait under a lock), pool (shows
/// the locks in a dump).
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/config.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// True if the library was configured with checks that cost time on every call (EKIDEN_LOCK_CHECKS). A Debug
/// build has them.
#if defined(EKIDEN_LOCK_CHECKS)
inline constexpr bool lock_checks = true;
#else
inline constexpr bool lock_checks = false;
#endif

// A program and a library with different lock checks do not link, because their names lie in different
// namespaces. The name of the following symbol tells why: each form of the library defines its own.
#if defined(EKIDEN_LOCK_CHECKS)
#define EKIDEN_SAME_LOCK_CHECKS ekiden_library_has_no_lock_checks_but_program_has_EKIDEN_LOCK_CHECKS
#else
#define EKIDEN_SAME_LOCK_CHECKS ekiden_library_has_lock_checks_but_program_has_no_EKIDEN_LOCK_CHECKS
#endif
extern "C" const char EKIDEN_SAME_LOCK_CHECKS;

namespace detail {

/// Makes every object that includes this header refer to the symbol, although no code reads the pointer.
[[gnu::used]] static const char* const same_lock_checks = &EKIDEN_SAME_LOCK_CHECKS;

enum class held : std::uint8_t {
    no,
    alone,
    shared,
    inside ///< the lock runs a section for the thread, which neither locks nor unlocks it
};

inline constexpr std::size_t most_held = 32;

/// The locks that a thread holds and the lock that it waits for. Other threads read them while the thread
/// hangs. Empty unless lock_checks is set.
class shown_locks {
public:
    /// has() returns whether the thread holds the lock. wanted() returns the lock that the thread waits for
    /// without a limit, or null. Compare this pointer, but do not dereference it. Any thread, also in a
    /// signal handler. Relaxed is enough: both answers are exact if the thread makes no progress.
    [[nodiscard]] bool has(const void* lock) const noexcept {
        return std::any_of(held_.begin(), held_.end(),
                           [lock](const auto& one) { return one.load(sys::relaxed) == lock; });
    }
    [[nodiscard]] const void* wanted() const noexcept { return wanted_.load(sys::relaxed); }

    // Only the thread itself calls these.
    void set_held(std::size_t place, const void* lock) noexcept {
        if (place < held_.size()) held_[place].store(lock, sys::relaxed);
    }
    void set_wanted(const void* lock) noexcept { wanted_.store(lock, sys::relaxed); }

private:
    std::array<sys::atomic<const void*>, lock_checks ? most_held : 0> held_{};
    sys::atomic<const void*> wanted_{nullptr};
};

/// Shows the locks of the calling thread in `there` from now on. Null ends this. The thread must not hold a
/// lock.
void show_locks(shown_locks* there) noexcept;

/// Records that the calling thread has acquired `lock`. `kind` names its type in messages ("a mutex") and
/// must outlive the hold. A thread records up to 32 locks. Misuse of further locks is not reported.
void note_held(const void* lock, const char* kind, held how) noexcept;
void note_released(const void* lock) noexcept;
[[nodiscard]] held is_held(const void* lock) noexcept;

/// Records that the calling thread no longer waits for a lock, because another thread did its operation for
/// it.
void note_served() noexcept;

// Each of these terminates the program with a message that names `operation` if the contract is broken.

/// The calling thread is about to wait for `lock`. Contract: it does not hold `lock`. Shows that it waits.
void expect_not_held(const void* lock, const char* kind, const char* operation) noexcept;
/// The calling thread is about to release `lock`. Contract: it holds `lock` in the way `how`. `is_free` says
/// that no thread holds it.
void expect_held(const void* lock, const char* kind, held how, const char* operation, bool is_free) noexcept;
/// A lock of this kind is about to be destroyed. Contract: `is_free`, which says that no thread and no
/// coroutine holds it.
void expect_free(const char* kind, bool is_free) noexcept;
/// The calling thread is about to wait for other threads in `operation`. Contract: it holds no lock, because
/// the other threads may need that lock.
void expect_no_lock_held(const char* operation) noexcept;

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI

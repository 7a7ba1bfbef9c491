/// Which locks the calling thread holds: to report misuse that would otherwise be silent, or a thread that
/// would wait for itself. Only used where lock_checks is set.
///
/// Part: context. Used by: sync (its mutexes note what they do), future (a wait under a lock), pool (shows
/// it).
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/config.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// True when the library was configured with checks that cost time on every call (EKIDEN_LOCK_CHECKS; a
/// Debug build has them).
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
    inside ///< for the time of a section that the lock runs: the thread neither locks nor unlocks it
};

inline constexpr std::size_t most_held = 32;

/// What a thread holds and waits for, for others to look at while it hangs. Empty unless lock_checks is set.
class shown_locks {
public:
    /// Any thread, also in a signal handler: whether the thread holds the lock; the one that it waits for
    /// without a limit, or null. To be compared, not followed. Relaxed: both are right of a thread that
    /// stands still.
    [[nodiscard]] bool has(const void* lock) const noexcept {
        return std::any_of(held_.begin(), held_.end(),
                           [lock](const auto& one) { return one.load(sys::relaxed) == lock; });
    }
    [[nodiscard]] const void* wanted() const noexcept { return wanted_.load(sys::relaxed); }

    // The thread.
    void set_held(std::size_t place, const void* lock) noexcept {
        if (place < held_.size()) held_[place].store(lock, sys::relaxed);
    }
    void set_wanted(const void* lock) noexcept { wanted_.store(lock, sys::relaxed); }

private:
    std::array<sys::atomic<const void*>, lock_checks ? most_held : 0> held_{};
    sys::atomic<const void*> wanted_{nullptr};
};

/// The calling thread, which holds no lock, shows them there from now on. Null: nowhere.
void show_locks(shown_locks* there) noexcept;

/// Notes that the calling thread has taken `lock`, a `kind` ("a mutex"), which outlives the hold. Up to 32
/// are remembered per thread; of those beyond, nothing is reported.
void note_held(const void* lock, const char* kind, held how) noexcept;
void note_released(const void* lock) noexcept;
[[nodiscard]] held is_held(const void* lock) noexcept;

/// The calling thread waits for no lock any more: another thread has done what it waited for.
void note_served() noexcept;

// Each ends the program with a message that names `operation`, if the contract is broken.

/// The calling thread is about to wait for `lock`, which it does not hold. Shows that.
void expect_not_held(const void* lock, const char* kind, const char* operation) noexcept;
/// The calling thread is about to give back `lock`: it holds it in this way. `is_free`: nobody holds it.
void expect_held(const void* lock, const char* kind, held how, const char* operation, bool is_free) noexcept;
/// A lock of this kind ends. `is_free`: no thread and no coroutine holds it.
void expect_free(const char* kind, bool is_free) noexcept;
/// The calling thread is about to wait for something that other threads' work may bring, `operation`: if it
/// holds a lock, those that work may need it.
void expect_no_lock_held(const char* operation) noexcept;

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI

/// Records the locks that each thread holds. The library uses the records to report misuse of a lock, and to
/// report a thread that would wait for itself. The records are used only if lock_checks is true.
///
/// Part: context. Used by: sync, future, pool.
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/config.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// True if the library was configured with EKIDEN_LOCK_CHECKS. Every call of a lock then checks for misuse,
/// which costs time. A Debug build has these checks.
#if defined(EKIDEN_LOCK_CHECKS)
inline constexpr bool lock_checks = true;
#else
inline constexpr bool lock_checks = false;
#endif

// A program and a library with different lock checks do not link, because the two configurations use
// different namespaces. The linker also reports the symbol below, whose name tells the reason. Each
// configuration of the library defines a different symbol.
#if defined(EKIDEN_LOCK_CHECKS)
#define EKIDEN_SAME_LOCK_CHECKS ekiden_library_has_no_lock_checks_but_program_has_EKIDEN_LOCK_CHECKS
#else
#define EKIDEN_SAME_LOCK_CHECKS ekiden_library_has_lock_checks_but_program_has_no_EKIDEN_LOCK_CHECKS
#endif
extern "C" const char EKIDEN_SAME_LOCK_CHECKS;

namespace detail {

/// Makes every object file that includes this header refer to the symbol. No code reads this pointer.
EKIDEN_USED static const char* const same_lock_checks = &EKIDEN_SAME_LOCK_CHECKS;

enum class held : std::uint8_t {
    no,
    alone,
    shared,
    inside ///< the lock runs a critical section for the thread. The thread must not lock or unlock.
};

inline constexpr std::size_t most_held = 32;

/// Shows the locks that a thread holds, and the lock for which the thread waits. If the thread hangs, other
/// threads read this record for a report. The record is empty unless lock_checks is true.
class shown_locks {
public:
    /// The function has() returns whether the thread holds the lock. The function wanted() returns the lock
    /// for which the thread waits without a time limit, or null. Compare the returned pointer, but do not
    /// dereference it. Any thread may call both functions, including a signal handler. Relaxed is enough,
    /// because the answers are needed only if the observed thread hangs. The answers are then exact, because
    /// a hanging thread changes nothing.
    [[nodiscard]] bool has(const void* lock) const noexcept {
        return std::any_of(held_.begin(), held_.end(),
                           [lock](const auto& one) { return one.load(sys::relaxed) == lock; });
    }
    [[nodiscard]] const void* wanted() const noexcept { return wanted_.load(sys::relaxed); }

    // Only the observed thread itself calls the next two functions.
    void set_held(std::size_t place, const void* lock) noexcept {
        if (place < held_.size()) held_[place].store(lock, sys::relaxed);
    }
    void set_wanted(const void* lock) noexcept { wanted_.store(lock, sys::relaxed); }

private:
    std::array<sys::atomic<const void*>, lock_checks ? most_held : 0> held_{};
    sys::atomic<const void*> wanted_{nullptr};
};

/// Starts to record the locks of the calling thread in `there`, where other threads can read the record. A
/// null `there` ends the recording. The thread must hold no lock during this call.
void show_locks(shown_locks* there) noexcept;

/// Records that the calling thread has acquired `lock`. `kind` names the type of the lock in messages, such
/// as "a mutex". The string must exist until the thread releases the lock. A thread records up to 32 locks.
/// Misuse of further locks is not reported.
void note_held(const void* lock, const char* kind, held how) noexcept;
void note_released(const void* lock) noexcept;
[[nodiscard]] held is_held(const void* lock) noexcept;

/// Records that the calling thread no longer waits for a lock, because another thread has executed the
/// operation for which the calling thread waited.
void note_served() noexcept;

// Each function below checks a contract. If the contract is broken, the function terminates the program with
// a message that names `operation`.

/// Called when the calling thread is about to wait for `lock`. Contract: the thread does not hold `lock`.
/// Records that the thread waits for `lock`.
void expect_not_held(const void* lock, const char* kind, const char* operation) noexcept;
/// Called when the calling thread is about to release `lock`. Contract: the thread holds `lock` in the way
/// that `how` names. `is_free` is true if no thread holds `lock`. `is_free` only selects the text of the
/// message.
void expect_held(const void* lock, const char* kind, held how, const char* operation, bool is_free) noexcept;
/// Called when a lock of this kind is about to be destroyed. Contract: `is_free` is true, which means that no
/// thread and no coroutine holds the lock.
void expect_free(const char* kind, bool is_free) noexcept;
/// Called when the calling thread is about to wait for other threads in `operation`. Contract: the calling
/// thread holds no lock, because the other threads may need that lock.
void expect_no_lock_held(const char* operation) noexcept;

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI

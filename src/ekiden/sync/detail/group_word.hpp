/// The words on which groups of waiters sleep, and the wake-up of a group. Protocol:
/// sync/detail/state_lock.md.
///
/// Part: sync. Used by: state_lock.
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/spin.hpp>

#include <array>
#include <cstdint>
#include <tuple>

namespace ekiden::inline EKIDEN_ABI {

/// A word on which groups of waiters sleep. Locks whose addresses have the same hash share a word. If a
/// thread is woken by another lock, the thread only checks its status again. The words are not part of the
/// locks, because a releaser may increment a word after the lock has been destroyed. Each word starts shortly
/// before it wraps around, so that tests reach the wrap-around.
struct alignas(sys::isolation) shared_word {
    sys::atomic<std::uint32_t> generation{~std::uint32_t{0} - 100};
};
inline std::array<shared_word, 64> shared_words;

/// Returns the word for the groups of the lock at the address `lock`.
inline sys::atomic<std::uint32_t>& group_word(const void* lock) noexcept {
    // Fibonacci hashing (Knuth) gives different words to locks whose addresses differ by some bytes, cache
    // lines or pages.
    constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15;
    static_assert(std::tuple_size_v<decltype(shared_words)> == 64);
    return shared_words[reinterpret_cast<std::uintptr_t>(lock) * golden_ratio >> (64 - 6)].generation;
}

/// The number of sleepers that one woken thread wakes at most.
inline constexpr unsigned most_helped = 16;

/// The least number of processors with which woken threads help. With fewer processors, one system call for
/// the whole group is faster. In models and under ThreadSanitizer, woken threads always help, so that small
/// machines check this path.
#if defined(EKIDEN_CHECKING) || defined(EKIDEN_TSAN)
inline constexpr unsigned helping_processors = 1;
#else
inline constexpr unsigned helping_processors = 8;
#endif

/// Wakes up to `most` threads that sleep on the word of a group, one at a time. Between two calls, the
/// threads that are awake already can wake others. The function only makes the wake-up of a group faster.
/// Returns at once if the machine has few processors.
inline void help_to_wake(const sys::atomic<std::uint32_t>& group, unsigned most = most_helped) noexcept {
    if (sys::processors() < helping_processors) return;
    while (most-- != 0 && sys::futex_wake(group) != 0) {
    }
}

} // namespace ekiden::inline EKIDEN_ABI

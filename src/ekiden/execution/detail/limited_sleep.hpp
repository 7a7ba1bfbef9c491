/// A sleep on a 32-bit word that also ends when a wait_limit is reached.
///
/// Part: execution. Used by: pool, loop. Private.
#pragma once

#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/futex.hpp>

#include <cstdint>
#include <stop_token>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// One wait of the calling thread. The thread loops: it reads the word and acquires, checks its condition and
/// is_over(), and calls sleep() with what it has read.
///
/// `Interrupt` is called at a stop request, by the thread that requests it. It changes the word with a
/// read-modify-write that releases, and wakes all threads that sleep on the word.
///
/// [LS1] The thread that requests the stop: the request, then the word (release). The sleeper: the word
/// (acquire), then the request. Either the sleeper sees the request, or it has read the word before the
/// change, and does not sleep on it.
template <class Interrupt>
class limited_sleep {
public:
    limited_sleep(const wait_limit& limit, Interrupt interrupt)
        : limit_(limit), on_stop_(limit.stop(), std::move(interrupt)) {}
    limited_sleep(const limited_sleep&) = delete;
    limited_sleep& operator=(const limited_sleep&) = delete;

    /// Returns whether the limit is reached.
    [[nodiscard]] bool is_over() const noexcept { return limit_.is_reached(); }

    /// Sleeps while `word` holds `seen`, until a wake-up or the deadline. May return at any time.
    void sleep(const sys::atomic<std::uint32_t>& word, std::uint32_t seen) const noexcept {
        if (limit_.is_timed())
            (void)sys::futex_wait_until(word, seen, limit_.deadline());
        else
            sys::futex_wait(word, seen);
    }

private:
    const wait_limit& limit_;
    const std::stop_callback<Interrupt> on_stop_; // its destructor waits for a running call
};

} // namespace ekiden::inline EKIDEN_ABI

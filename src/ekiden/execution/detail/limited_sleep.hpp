/// A sleep on a 32-bit word. The sleep also ends when a wait_limit is reached.
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

/// One wait of the calling thread. The thread repeats three steps. First, the thread reads the word with
/// acquire. Second, the thread checks its condition and is_over(). Third, the thread calls sleep() with the
/// value of the word that it has read.
///
/// The thread that requests a stop calls the function of type `Interrupt`. This function must change the word
/// by a read-modify-write with release, and wake all threads that sleep on the word.
///
/// [LS1] The thread that requests the stop sets the request, then changes the word (release). The sleeper
/// reads the word (acquire), then checks for the request. If the sleeper does not see the request, it has
/// read the word before the change. Then the futex call does not sleep, because the word has changed.
template <class Interrupt>
class limited_sleep {
public:
    limited_sleep(const wait_limit& limit, Interrupt interrupt)
        : limit_(limit), on_stop_(limit.stop(), std::move(interrupt)) {}
    limited_sleep(const limited_sleep&) = delete;
    limited_sleep& operator=(const limited_sleep&) = delete;

    /// Returns whether the limit is reached.
    [[nodiscard]] bool is_over() const noexcept { return limit_.is_reached(); }

    /// Sleeps while `word` contains `seen`. Returns after a wake-up or at the deadline, and may also return
    /// earlier.
    void sleep(const sys::atomic<std::uint32_t>& word, std::uint32_t seen) const noexcept {
        if (limit_.is_timed())
            (void)sys::futex_wait_until(word, seen, limit_.deadline());
        else
            sys::futex_wait(word, seen);
    }

private:
    const wait_limit& limit_;
    const std::stop_callback<Interrupt> on_stop_; // its destructor waits for a running interrupt
};

} // namespace ekiden::inline EKIDEN_ABI

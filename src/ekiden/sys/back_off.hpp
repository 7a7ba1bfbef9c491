/// Waiting without sleeping, for as long as that pays: spin, then yield, then sleep.
///
/// Part: sys. Used by: sync (every wait that yields).
///
/// A yield lets any thread of the system run. Beside a busy process it returns a whole time slice later,
/// while a thread that sleeps runs soon after it is woken. So each yield is measured, and the process stops
/// yielding for some time when yields cost more than the sleeps that they replace.
#pragma once

#include <ekiden/sys/config.hpp>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Yields. Returns false if the caller should park instead: this yield was slow, or slow yields of the
/// process have cost more than brief ones have saved, in which case the call does not yield for some time.
/// Thread-safe. Orders nothing. Reads the clock twice.
[[nodiscard]] bool yield_briefly() noexcept;

/// For a wait that has nothing to park on and that a few steps of another thread end. Call wait() before each
/// check. A call lasts at most as long as a short sleep, unless the system gives the processor away.
class back_off {
public:
    /// Spins at first, each time twice as long. Then yields, or sleeps for a moment if yields are slow.
    void wait() noexcept;

private:
    unsigned pauses_ = 1;
};

} // namespace ekiden::inline EKIDEN_ABI::sys

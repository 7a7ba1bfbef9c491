/// Short waits: spin first, then yield, then sleep.
///
/// Part: sys. Used by: sync (every wait that yields).
///
/// A yield lets any thread of the system run. If another process is busy, the yield takes a whole time slice,
/// whereas a sleeping thread runs soon after its wake-up. So each yield is measured. The process stops
/// yielding for some time when yields cost more than the sleeps that they replace.
#pragma once

#include <ekiden/sys/config.hpp>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Yields. Returns false if the caller should park instead. It does so after a slow yield. It also does so
/// without yielding, for some time after slow yields of the process have cost more than brief ones saved.
/// Thread-safe. Orders nothing. Reads the clock twice.
[[nodiscard]] bool yield_briefly() noexcept;

/// A wait with nothing to park on, which ends after a few steps of another thread. Call wait() before each
/// check. A call lasts at most as long as a short sleep, unless the system gives the processor to another
/// thread.
class back_off {
public:
    /// Spins at first, twice as long each time. Then yields, or sleeps briefly if yields are slow.
    void wait() noexcept;

private:
    unsigned pauses_ = 1;
};

} // namespace ekiden::inline EKIDEN_ABI::sys

/// Short waits that spin first, then yield, and then sleep. Pauses between attempts.
///
/// Part: sys. Used by: sync.
///
/// A yield lets any thread of the system run. If another process is busy, a yield can take a whole time
/// slice. A sleeping thread, in contrast, runs soon after its wake-up. So the library measures how long each
/// yield takes. If yields cost more than the sleeps that they replace, the process stops yielding for some
/// time.
#pragma once

#include <ekiden/sys/config.hpp>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Yields once, and measures how long the yield takes. Returns false if the yield was slow, so that the
/// caller parks instead. If slow yields have cost the process more time than brief yields have saved, the
/// function returns false for some time without a yield. Thread-safe. Orders nothing. Reads the clock twice.
[[nodiscard]] bool yield_briefly() noexcept;

/// Pauses for `length` calls of spin_hint(), and returns the length of the next pause: 4 times as long, but
/// at most `longest`. Used between attempts to change a word that other processors change, too. An attempt
/// has failed because another processor has just changed the word. During the pause, the word stays in the
/// cache of that processor, which can make several steps. For all processors together, this is faster than a
/// transfer of the word for each step. The more processors try, the more attempts fail. Thread-safe. Orders
/// nothing.
[[nodiscard]] unsigned growing_pause(unsigned length, unsigned longest) noexcept;

/// A short wait until another thread has completed a few steps. Use this class if there is no word on which
/// the thread can park. Call wait() before each check of the condition. A call of wait() lasts at most as
/// long as a short sleep, unless the system gives the processor to another thread.
class back_off {
public:
    /// The first calls spin, each twice as long as the call before. Later calls yield, or sleep briefly if
    /// yields are slow.
    void wait() noexcept;

private:
    unsigned pauses_ = 1;
};

} // namespace ekiden::inline EKIDEN_ABI::sys

/// A mutex that spins for a moment before it sleeps.
///
/// Part: sync. Used by: users whose sections are about as long as a wake-up (a few microseconds). It looks
/// again a settable number of times; `mutex` is the one that never does.
#pragma once

#include <ekiden/sync/mutex_base.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// Its operations are those of mutex_base. See mutex for the order in which it is taken.
class hybrid_mutex : public mutex_base {
public:
    /// `spins`: how often a waiting thread looks again, with a pause hint in between, before it sleeps.
    explicit hybrid_mutex(std::uint16_t spins = 100) noexcept : mutex_base(rules_), rules_{.spins = spins} {}

private:
    const state_rules rules_; // the base only refers to it
};

} // namespace ekiden::inline EKIDEN_ABI

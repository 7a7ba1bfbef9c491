/// A mutex that spins for a moment before it sleeps.
///
/// Part: sync. Used by: users whose sections are about as long as a wake-up (a few microseconds). It looks
/// again a number of times that its type says, whoever else waits; `mutex` does so for a short moment only,
/// and only while nobody else waits.
#pragma once

#include <ekiden/sync/mutex_base.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// Its operations are those of mutex_base. See mutex for the order in which it is taken.
/// `Spins`: how often a waiting thread looks again, with a pause hint in between, before it sleeps.
template <std::uint16_t Spins>
class basic_hybrid_mutex : public mutex_base {
public:
    constexpr basic_hybrid_mutex() noexcept : mutex_base(spinning) {}

private:
    static constexpr state_rules spinning{.spins = Spins, .name = "a hybrid_mutex"};
};

/// Looks again for about as long as a wake-up takes.
using hybrid_mutex = basic_hybrid_mutex<100>;

} // namespace ekiden::inline EKIDEN_ABI

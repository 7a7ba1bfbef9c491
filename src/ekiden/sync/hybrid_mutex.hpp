/// A mutex that spins briefly before it sleeps.
///
/// Part: sync. Used by: users whose sections are about as long as a wake-up (a few microseconds). The type
/// sets how often a waiting thread checks the mutex before it sleeps. It spins even if other threads wait. A
/// thread that waits for a `mutex` spins only briefly, and only if no other thread waits.
#pragma once

#include <ekiden/sync/detail/mutex_base.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// A mutex_base whose waiting threads spin before they sleep. Threads lock it in the order of a mutex.
///
/// `Spins` is the number of checks of the mutex before a waiting thread sleeps. A pause hint separates them.
template <std::uint16_t Spins>
class basic_hybrid_mutex : public mutex_base {
public:
    constexpr basic_hybrid_mutex() noexcept : mutex_base(spinning) {}

private:
    static constexpr state_rules spinning{.spins = Spins, .name = "a hybrid_mutex"};
};

/// A hybrid mutex that spins for about as long as a wake-up takes.
using hybrid_mutex = basic_hybrid_mutex<100>;

} // namespace ekiden::inline EKIDEN_ABI

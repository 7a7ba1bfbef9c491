/// A mutex whose waiting threads spin before they sleep.
///
/// Part: sync. Used by: users whose critical sections take about as long as a wake-up (a few microseconds). A
/// template argument sets how often a waiting thread checks the mutex before it sleeps. A thread that waits
/// for a hybrid_mutex spins even if other threads wait. A thread that waits for a `mutex` spins only briefly,
/// and only if no other thread waits.
#pragma once

#include <ekiden/sync/detail/mutex_base.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// A mutex whose waiting threads spin before they sleep. A hybrid_mutex does not guarantee the order in which
/// waiting threads lock it. The operations of a hybrid_mutex are the member functions of mutex_base.
///
/// `Spins` is the number of times that a waiting thread checks the mutex before it sleeps. Before each check,
/// the thread executes a pause hint.
template <std::uint16_t Spins>
class basic_hybrid_mutex : public mutex_base {
public:
    constexpr basic_hybrid_mutex() noexcept : mutex_base(spinning) {}

private:
    static constexpr state_rules spinning{.spins = Spins, .name = "a hybrid_mutex"};
};

/// A hybrid mutex whose waiting threads spin for about as long as a wake-up takes.
using hybrid_mutex = basic_hybrid_mutex<100>;

} // namespace ekiden::inline EKIDEN_ABI

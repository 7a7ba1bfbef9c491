/// A mutex for general use: small, fast when free, and without starvation when contended.
///
/// Part: sync. Used by: users. A running thread may lock the free mutex before a woken one does, which
/// preserves the throughput. A thread that has waited for more than 500 us is handed the mutex. (Eventual
/// fairness: WebKit's WTF::Lock and parking_lot.) A thread that waits alone spins for a third of a
/// microsecond. Other waiting threads sleep at once.
#pragma once

#include <ekiden/sync/detail/mutex_base.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// A mutex_base for general use.
class mutex : public mutex_base {
public:
    constexpr mutex() noexcept = default;
};

} // namespace ekiden::inline EKIDEN_ABI

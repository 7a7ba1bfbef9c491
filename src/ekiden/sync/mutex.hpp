/// A mutex for general use: small, fast when free, no starvation when not.
///
/// Part: sync. Used by: users. A running thread may take the free mutex before a woken one does, which keeps
/// the throughput; one that has waited for more than 500 us is handed the mutex. (Eventual fairness: WebKit's
/// WTF::Lock and parking_lot.) The only thread that waits looks again for a third of a microsecond, the
/// others sleep at once.
#pragma once

#include <ekiden/sync/detail/mutex_base.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// A mutex_base for general use.
class mutex : public mutex_base {
public:
    constexpr mutex() noexcept = default;
};

} // namespace ekiden::inline EKIDEN_ABI

/// A mutex for general use. The mutex is small, is fast when it is free, and lets no thread starve.
///
/// Part: sync. Used by: users. A running thread may lock the free mutex before a woken thread does. So the
/// throughput stays high. If a thread has waited for more than 500 us, an unlock hands the mutex to that
/// thread. WebKit's WTF::Lock and the Rust library parking_lot are fair in the same way. If no other thread
/// waits, a thread spins briefly before it sleeps. If another thread waits already, a thread sleeps at once.
#pragma once

#include <ekiden/sync/detail/mutex_base.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// A mutex for general use. The operations of this class are the member functions of mutex_base.
class mutex : public mutex_base {
public:
    constexpr mutex() noexcept = default;
};

} // namespace ekiden::inline EKIDEN_ABI

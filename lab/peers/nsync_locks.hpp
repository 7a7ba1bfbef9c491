/// nsync's mutex, which is also a read-write lock.
///
/// Used by: the experiments on locks.
#pragma once

#include <lab/peers/row.hpp>

#include <nsync.h>

namespace lab::peers {

class nsync_lock {
public:
    static constexpr peers::row row{"nsync", "nsync_mu", 15};

    void lock() { nsync::nsync_mu_lock(&mutex_); }
    void unlock() { nsync::nsync_mu_unlock(&mutex_); }
    void lock_shared() { nsync::nsync_mu_rlock(&mutex_); }
    void unlock_shared() { nsync::nsync_mu_runlock(&mutex_); }

private:
    nsync::nsync_mu mutex_ = NSYNC_MU_INIT;
};

} // namespace lab::peers

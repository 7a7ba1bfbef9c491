/// The locks that only glibc has.
///
/// Used by: the experiments on locks.
#pragma once

#include <lab/peers/row.hpp>

#include <pthread.h>

namespace lab::peers {

/// glibc's mutex that spins before it sleeps.
class pthread_adaptive {
public:
    static constexpr peers::row row{"pthread-adaptive", "pthread, adaptive mutex", 12};

    void lock() { pthread_mutex_lock(&mutex_); }
    void unlock() { pthread_mutex_unlock(&mutex_); }

private:
    pthread_mutex_t mutex_ = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
};

/// pthread_rwlock_t, either with glibc's default, which prefers readers, or with preferred writers.
template <bool WritersFirst>
class pthread_rw {
public:
    static constexpr peers::row row =
        WritersFirst ? peers::row{"pthread-rwlock-writers", "pthread_rwlock, prefer writer", 9}
                     : peers::row{"pthread-rwlock", "1 pthread_rwlock", 8};

    pthread_rw() {
        pthread_rwlockattr_t how;
        pthread_rwlockattr_init(&how);
        if (WritersFirst) pthread_rwlockattr_setkind_np(&how, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
        pthread_rwlock_init(&lock_, &how);
        pthread_rwlockattr_destroy(&how);
    }
    ~pthread_rw() { pthread_rwlock_destroy(&lock_); }
    pthread_rw(const pthread_rw&) = delete;
    pthread_rw& operator=(const pthread_rw&) = delete;

    void lock() { pthread_rwlock_wrlock(&lock_); }
    void unlock() { pthread_rwlock_unlock(&lock_); }
    void lock_shared() { pthread_rwlock_rdlock(&lock_); }
    void unlock_shared() { pthread_rwlock_unlock(&lock_); }

private:
    pthread_rwlock_t lock_;
};

} // namespace lab::peers

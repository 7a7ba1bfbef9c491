/// The locks of the system: the standard library's and glibc's.
///
/// Used by: the experiments on locks.
#pragma once

#include <lab/peers/row.hpp>

#include <barrier>
#include <mutex>
#include <semaphore>
#include <shared_mutex>

#include <pthread.h>

namespace lab::peers {

struct std_mutex : std::mutex {
    static constexpr peers::row row{"std-mutex", "std::mutex", 10};
};

struct std_semaphore : std::counting_semaphore<> {
    static constexpr peers::row row{"std-semaphore", "std::counting_semaphore", 10};
    using counting_semaphore::counting_semaphore;
};

/// glibc's mutex that spins before it sleeps.
class pthread_adaptive {
public:
    static constexpr peers::row row{"pthread-adaptive", "pthread, adaptive mutex", 12};

    void lock() { pthread_mutex_lock(&mutex_); }
    void unlock() { pthread_mutex_unlock(&mutex_); }

private:
    pthread_mutex_t mutex_ = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
};

class pthread_spin {
public:
    static constexpr peers::row row{"pthread-spin", "pthread_spin", 13};

    pthread_spin() { pthread_spin_init(&lock_, PTHREAD_PROCESS_PRIVATE); }
    ~pthread_spin() { pthread_spin_destroy(&lock_); }
    pthread_spin(const pthread_spin&) = delete;
    pthread_spin& operator=(const pthread_spin&) = delete;

    void lock() { pthread_spin_lock(&lock_); }
    void unlock() { pthread_spin_unlock(&lock_); }

private:
    pthread_spinlock_t lock_;
};

struct std_shared_mutex : std::shared_mutex {
    static constexpr peers::row row{"std-shared-mutex", "std::shared_mutex", 11};
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

class pthread_barrier {
public:
    static constexpr peers::row row{"pthread-barrier", "1 pthread_barrier", 8};

    explicit pthread_barrier(unsigned size) { pthread_barrier_init(&barrier_, nullptr, size); }
    ~pthread_barrier() { pthread_barrier_destroy(&barrier_); }
    pthread_barrier(const pthread_barrier&) = delete;
    pthread_barrier& operator=(const pthread_barrier&) = delete;

    void arrive_and_wait() { pthread_barrier_wait(&barrier_); }

private:
    pthread_barrier_t barrier_;
};

struct std_barrier : std::barrier<> {
    static constexpr peers::row row{"std-barrier", "std::barrier", 11};
    explicit std_barrier(unsigned size) : std::barrier<>(size) {}
};

} // namespace lab::peers

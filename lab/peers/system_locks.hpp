/// The locks of the system: the standard library's and those of POSIX.
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

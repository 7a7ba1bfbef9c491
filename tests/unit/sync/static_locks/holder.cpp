// Linked before locks.cpp, so that its constructor runs before those of locks.cpp would: what it does to the
// locks must still be there in main().
#include "locks.hpp"

#include <cstdio>

namespace static_locks {
namespace {

struct holder {
    holder() {
        mutex.lock();
        fifo_mutex.lock();
        hybrid_mutex.lock();
        spin_mutex.lock();
        rw_mutex.lock_shared();
        latch.count_down();
        event.set();
        semaphore.acquire();
        (void)barrier.arrive();
    }
} const holds;

template <class Mutex>
bool is_free(Mutex& mutex) {
    const bool taken = mutex.try_lock();
    if (taken) mutex.unlock();
    return taken;
}

int wrong(const char* what) {
    std::printf("%s has lost what was done before main\n", what);
    return 1;
}

int check() {
    int errors = 0;
    if (is_free(mutex)) errors += wrong("mutex");
    if (is_free(fifo_mutex)) errors += wrong("fifo_mutex");
    if (is_free(hybrid_mutex)) errors += wrong("hybrid_mutex");
    if (is_free(spin_mutex)) errors += wrong("spin_mutex");
    if (is_free(rw_mutex)) errors += wrong("rw_mutex");
    latch.count_down();
    if (!latch.try_wait()) errors += wrong("latch");
    if (!event.is_set()) errors += wrong("event");
    if (semaphore.try_acquire()) errors += wrong("semaphore");
    const auto last = barrier.arrive();
    if (!barrier.is_complete(last)) errors += wrong("barrier");
    // The end of a lock that is held is a mistake, which lock checks report.
    mutex.unlock();
    fifo_mutex.unlock();
    hybrid_mutex.unlock();
    spin_mutex.unlock();
    rw_mutex.unlock_shared();
    return errors;
}

} // namespace
} // namespace static_locks

int main() { return static_locks::check(); }

// Locks and other objects at which threads wait.
#include <computed/rows/row.hpp>

#include <ekiden/sync/barrier.hpp>
#include <ekiden/sync/counting_semaphore.hpp>
#include <ekiden/sync/fifo_mutex.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/sync/rw_mutex.hpp>
#include <ekiden/sys/lock.hpp>

#include <algorithm>
#include <mutex>
#include <shared_mutex>

namespace ekiden::rows {
namespace {

/// Some threads lock one mutex. The figure is the time of one section. If `Threads` is 0, there are as many
/// threads as cores.
template <class Mutex, unsigned Threads>
double sections(const setting& s) {
    const unsigned threads = Threads != 0 ? Threads : s.cores;
    Mutex lock;
    std::uint64_t guarded = 0;
    sys::atomic<bool> over{false};
    const double took = together(threads + 1, [&](unsigned me) {
        if (me == threads) {
            sleep_ns(static_cast<std::uint64_t>(5'000'000 * s.scale));
            over.store(true, sys::relaxed);
            return;
        }
        while (!over.load(sys::relaxed)) {
            lock.lock();
            ++guarded;
            lock.unlock();
        }
    });
    return took / static_cast<double>(std::max<std::uint64_t>(guarded, 1));
}

/// The time between two sections of an rw_mutex, of which one in `Writes` is exclusive (0: none).
template <unsigned Writes>
double shared_sections(const setting& s) {
    rw_mutex<> lock;
    std::uint64_t guarded = 0;
    constexpr unsigned each = 2'000;
    const double took = together(s.cores, [&](unsigned me) {
        for (unsigned i = 0; i != each; ++i) {
            if (Writes != 0 && (i + 7 * me) % Writes == 0) {
                const std::lock_guard writing(lock);
                ++guarded;
            } else {
                const std::shared_lock reading(lock);
            }
        }
    });
    return took / (each * s.cores);
}

/// The time between two acquisitions of a semaphore with a permit for every `Sharers` threads.
template <unsigned Sharers>
double semaphore_turns(const setting& s) {
    constexpr unsigned each = 2'000;
    counting_semaphore<> permits((s.cores + Sharers - 1) / Sharers);
    const double took = together(s.cores, [&](unsigned) {
        for (unsigned i = 0; i != each; ++i) {
            permits.acquire();
            permits.release();
        }
    });
    return took / (each * s.cores);
}

double barrier_phase(const setting& s) {
    constexpr unsigned phases = 200;
    barrier all(s.cores);
    return together(s.cores,
                    [&](unsigned) {
                        for (unsigned i = 0; i != phases; ++i) all.arrive_and_wait();
                    })
           / phases;
}

const bool added = add({"mutex, a thread per core", "ekiden", &sections<mutex, 0>, 0})
                   && add({"mutex, 64 threads", "ekiden", &sections<mutex, 64>, 0})
                   && add({"mutex, a thread per core", "futex mutex", &sections<sys::slow_lock, 0>, 0})
                   && add({"fifo_mutex, a thread per core", "ekiden", &sections<fifo_mutex, 0>, 0})
                   && add({"rw_mutex, only reading", "ekiden", &shared_sections<0>, 0})
                   && add({"rw_mutex, 1 write in 100", "ekiden", &shared_sections<100>, 0})
                   && add({"semaphore, a permit per thread", "ekiden", &semaphore_turns<1>, 0})
                   && add({"semaphore, half as many permits", "ekiden", &semaphore_turns<2>, 0})
                   && add({"barrier, a thread per core", "ekiden", &barrier_phase, 0});

} // namespace
} // namespace ekiden::rows

/// The thread that finds tasks which block without announcing it.
///
/// Part: pool. Used by: scheduler. Private. See elastic.md.
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/thread.hpp>

#include <cstdint>
#include <string>

namespace ekiden::inline EKIDEN_ABI {

class scheduler;
class pool_threads;

/// A thread that checks the workers of a pool at intervals. It compensates for workers that sleep in the
/// kernel while tasks wait, and reports a saturated pool. It sleeps while all workers sleep.
class watch {
public:
    /// Throws std::system_error if the system gives no thread.
    watch(scheduler& pool, pool_threads& threads, sys::clock::duration interval, std::string name);
    ~watch();
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;

    /// Any thread: called when a worker has left its sleep.
    void wake() noexcept;

private:
    // word_      meaning                            set by
    // checking   checks at intervals                wake
    // asleep     no worker is awake                 the watch
    // leaving    the pool ends                      ~watch
    enum : std::uint32_t { checking, asleep, leaving };

    void run() noexcept;
    /// Checks all workers. Returns whether a thread was put to work.
    bool check() noexcept;
    void report_saturation(bool is_starving) noexcept;

    scheduler& pool_;
    pool_threads& threads_;
    const sys::clock::duration interval_;
    unsigned starving_checks_ = 0; // in a row
    bool has_reported_ = false;
    sys::atomic<std::uint32_t> word_{checking};
    sys::thread thread_;
};

} // namespace ekiden::inline EKIDEN_ABI

/// The thread that finds tasks which block outside of a blocking_region.
///
/// Part: pool. Used by: pool. Private. See elastic.md.
#pragma once

#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/thread.hpp>

#include <cstdint>
#include <memory>

namespace ekiden::inline EKIDEN_ABI {

class scheduler;
class pool_threads;
class slow_tasks;

/// A thread that checks the workers of a pool at intervals. If workers sleep in the kernel while tasks are
/// queued, the watch lets other threads run these tasks. The watch also reports a saturated pool, slow tasks,
/// and long delays in the queues. While all workers sleep, the watch also sleeps.
class watch {
public:
    /// Starts the thread of the watch. Throws std::system_error if the system refuses to start the thread.
    watch(scheduler& pool, pool_threads& threads, const thread_pool_options& options);
    ~watch();
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;

    /// Any thread: wakes the watch if the watch sleeps. Called when a worker has started or woken up.
    void wake() noexcept;

private:
    // The values of word_:
    //  * checking: the watch checks the workers at intervals. wake() and the watch set this value.
    //  * asleep: the watch and all workers sleep. The watch sets this value.
    //  * leaving: the pool ends. The destructor of the watch sets this value.
    enum : std::uint32_t { checking, asleep, leaving };

    void run() noexcept;
    /// Checks all workers. Returns whether a thread was hired.
    bool check() noexcept;
    void follow_processors() noexcept;
    void report_saturation(bool is_starving) noexcept;

    scheduler& pool_;
    pool_threads& threads_;
    const sys::clock::duration interval_;
    const sys::clock::duration follow_interval_; // 0: the watch does not read the number of processors
    sys::clock::time_point next_follow_;
    const std::unique_ptr<slow_tasks> slow_;
    unsigned starving_checks_ = 0; // the number of checks in a row with queued tasks but no idle worker
    bool has_reported_ = false;
    sys::atomic<std::uint32_t> word_{checking};
    sys::thread thread_;
};

} // namespace ekiden::inline EKIDEN_ABI

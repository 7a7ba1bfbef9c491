/// Looks after an elastic pool whose tasks block without saying so.
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
class crew;

/// A thread that looks at the workers from time to time: compensates for those that sleep in the kernel while
/// tasks wait, and reports a pool that cannot get on. It sleeps while all workers do.
class watch {
public:
    /// Throws std::system_error if the system gives no thread.
    watch(scheduler& pool, crew& threads, sys::clock::duration interval, std::string name);
    ~watch();
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;

    /// A worker has left its sleep. Any thread.
    void wake() noexcept;

private:
    // word_      meaning                            set by
    // looking    looks, at intervals                wake
    // asleep     nobody is awake to be looked at    the watch
    // leaving    the pool ends                      ~watch
    enum : std::uint32_t { looking, asleep, leaving };

    void run() noexcept;
    /// Returns whether a thread was put to work.
    bool look() noexcept;
    void report_saturation(bool is_starving) noexcept;

    scheduler& pool_;
    crew& crew_;
    const sys::clock::duration interval_;
    unsigned starving_looks_ = 0;
    bool has_reported_ = false;
    sys::atomic<std::uint32_t> word_{looking};
    sys::thread thread_;
};

} // namespace ekiden::inline EKIDEN_ABI

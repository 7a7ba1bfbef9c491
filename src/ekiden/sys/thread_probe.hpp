/// What the system says about another thread: the processor time that it has used, and whether it sleeps.
///
/// Part: sys. Used by: pool (watch).
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Queries a thread until that thread ends. Uses the thread's CPU clock and /proc on Linux. On other systems,
/// nothing is known.
class thread_probe {
public:
    /// Refers to no thread.
    thread_probe() = default;

    [[nodiscard]] static thread_probe of_this_thread() noexcept;

    /// Returns the processor time that the thread has used, in ns. 0 if unknown. Makes a system call.
    [[nodiscard]] std::uint64_t cpu_ns() const noexcept;

    /// Returns whether the thread sleeps in the kernel, in a wait of any kind. False if unknown. Reads a file
    /// of the system, which takes several microseconds.
    [[nodiscard]] bool is_asleep() const noexcept;

private:
    long thread_ = 0; // the system's number of the thread
    long clock_ = 0;
};

} // namespace ekiden::inline EKIDEN_ABI::sys

/// What another thread is doing, as far as the system tells: the time it has used, and whether it sleeps.
///
/// Part: sys. Used by: pool (watch).
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::sys {

/// A thread to ask about, until it ends. On Linux from its CPU clock and /proc; elsewhere nothing is known,
/// and the answers say so.
class thread_probe {
public:
    /// Of no thread.
    thread_probe() = default;

    [[nodiscard]] static thread_probe of_this_thread() noexcept;

    /// The CPU time that the thread has used, in ns; 0 if unknown. A system call.
    [[nodiscard]] std::uint64_t cpu_ns() const noexcept;

    /// Whether the thread sleeps in the kernel, in a wait of any kind; false if unknown. Reads a file of the
    /// system: some 10 us.
    [[nodiscard]] bool is_asleep() const noexcept;

private:
    long thread_ = 0; // the system's number of it
    long clock_ = 0;
};

} // namespace ekiden::inline EKIDEN_ABI::sys

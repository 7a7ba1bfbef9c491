/// Asks the system about another thread: how much processor time the thread has used, and whether it sleeps.
///
/// Part: sys. Used by: pool.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::sys {

/// A handle that can query one thread until that thread ends. On Linux, the probe uses the thread's CPU clock
/// and /proc. On macOS, the probe uses the Mach port of the thread. On Windows, the probe sees only the sleep
/// in waits of the library.
class thread_probe {
public:
    /// Creates a probe that refers to no thread.
    thread_probe() = default;

    [[nodiscard]] static thread_probe of_this_thread() noexcept;

    /// Returns the processor time that the thread has used, in ns. Returns 0 if the time is unknown. Makes a
    /// system call.
    [[nodiscard]] std::uint64_t cpu_ns() const noexcept;

    /// Returns true if the thread sleeps in the kernel, for any reason. Returns false if the state of the
    /// thread is unknown. The call takes several microseconds, because it reads a file of the system.
    [[nodiscard]] bool is_asleep() const noexcept;

    [[nodiscard]] bool refers_to_thread() const noexcept { return thread_ != 0; }
    /// Returns the system's number of the thread.
    [[nodiscard]] long system_id() const noexcept { return thread_; }

private:
    long thread_ = 0; // the system's number of the thread
#if defined(_WIN32)
    const void* sleep_ = nullptr; // where the thread notes that it sleeps
#elif !defined(__APPLE__)
    long clock_ = 0;
#endif
};

} // namespace ekiden::inline EKIDEN_ABI::sys

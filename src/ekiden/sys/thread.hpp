/// Threads: start, join, name, place; what a thread does at its end; data of which each thread has its own.
///
/// Part: sys. Used by: pool, queue (per-thread memory and rings), sync.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#if defined(EKIDEN_CHECKING)
#include <check/engine/thread.hpp>
#else
#include <thread>
#include <type_traits>

namespace ekiden::inline EKIDEN_ABI::sys {

/// A thread of the operating system: std::thread. The constructor throws std::system_error
/// (resource_unavailable_try_again) when the system refuses to start one.
using thread = std::thread;

/// Gives the rest of this thread's time slice away.
inline void yield() noexcept { std::this_thread::yield(); }

/// The calling thread's own object of type T, zero on the thread's first use. T is trivially destructible: it
/// is still readable while the thread's other thread_local objects are destroyed; see at_thread_exit for
/// cleaning up.
template <class T>
[[nodiscard]] inline T& local() noexcept {
    static_assert(std::is_trivially_destructible_v<T>);
    static thread_local constinit T value{};
    return value;
}

} // namespace ekiden::inline EKIDEN_ABI::sys
#endif

namespace ekiden::inline EKIDEN_ABI::sys {

/// Calls `action(argument)` when the calling thread ends, newest first; an action may register another one.
/// False if the thread's actions have run already (a destructor of static storage, or of another thread_local
/// object): nothing will call the action then. Throws std::bad_alloc.
[[nodiscard]] bool at_thread_exit(void (*action)(void*), void* argument);

/// Makes `name` visible to debuggers and system tools for the calling thread. On Linux it is cut to 15
/// bytes, between two characters of UTF-8.
void set_thread_name(std::string_view name) noexcept;

/// What set_thread_name() or the system has named the calling thread; empty where that cannot be told.
[[nodiscard]] std::string this_thread_name();

/// The number that the system's tools show for the calling thread. Unique among the threads that live.
[[nodiscard]] std::uint64_t system_thread_id() noexcept;

/// Restricts the calling thread to these processors. False if the system refused or knows no such call.
[[nodiscard]] bool set_thread_affinity(std::span<const int> cpus) noexcept;

} // namespace ekiden::inline EKIDEN_ABI::sys

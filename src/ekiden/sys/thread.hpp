/// Threads: start, join, name, placement, actions at their end, and data per thread.
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
/// (resource_unavailable_try_again) if the system refuses to start a thread.
using thread = std::thread;

/// Gives up the rest of this thread's time slice.
inline void yield() noexcept { std::this_thread::yield(); }

/// Returns the calling thread's own object of type T. It is zero before the thread's first use. T must be
/// trivially destructible, so that it stays readable while other thread_local objects of the thread are
/// destroyed. For cleanup, use at_thread_exit().
template <class T>
[[nodiscard]] inline T& local() noexcept {
    static_assert(std::is_trivially_destructible_v<T>);
    static thread_local constinit T value{};
    return value;
}

} // namespace ekiden::inline EKIDEN_ABI::sys
#endif

namespace ekiden::inline EKIDEN_ABI::sys {

/// Calls `action(argument)` when the calling thread ends. Actions run newest first, and an action may
/// register another one. Returns false, and never calls the action, if the thread's actions have run already.
/// This is so in destructors of static objects, and can be so in destructors of thread_local objects. Throws
/// std::bad_alloc.
[[nodiscard]] bool at_thread_exit(void (*action)(void*), void* argument);

/// Sets the name of the calling thread that debuggers and system tools show. On Linux, the name is cut to 15
/// bytes, but never inside a UTF-8 character.
void set_thread_name(std::string_view name) noexcept;

/// Returns the name of the calling thread, set by set_thread_name() or by the system. Empty if unknown.
[[nodiscard]] std::string this_thread_name();

/// Returns the number that the system's tools show for the calling thread. Unique among living threads.
[[nodiscard]] std::uint64_t system_thread_id() noexcept;

/// Restricts the calling thread to these processors. Returns false if the system refuses or has no such call.
[[nodiscard]] bool set_thread_affinity(std::span<const int> cpus) noexcept;

} // namespace ekiden::inline EKIDEN_ABI::sys

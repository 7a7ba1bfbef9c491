/// Starts, joins, names and places threads, runs actions when a thread ends, and stores data of each thread.
///
/// Part: sys. Used by: almost every part.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#if defined(EKIDEN_CHECKING) || defined(EKIDEN_TIMED)
#include <check/engine/thread.hpp>
#else
#include <thread>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::sys {

#if defined(_WIN32)
/// Increments the number of references to the module that contains the library. The system does not unload a
/// module with references. Private.
void hold_module() noexcept;
/// Gives back a reference of hold_module(). Private.
void release_module() noexcept;
/// Ends the program with a message if the calling thread holds the system's loader lock. Private.
void refuse_loader_lock() noexcept;

/// A thread of the operating system: std::thread. The constructor throws std::system_error
/// (resource_unavailable_try_again) if the system refuses to start a thread.
///
/// Until the thread is joined, it holds a reference to the module that contains the library. So FreeLibrary()
/// does not unload the code that the thread runs. A detached thread keeps its reference.
class thread : public std::thread {
public:
    thread() noexcept = default;
    template <class F>
        requires(!std::is_same_v<std::remove_cvref_t<F>, thread>)
    explicit thread(F&& f) : std::thread(std::forward<F>(f)) {
        hold_module();
    }

    /// Waits for the end of the thread. The thread needs the loader lock to end. So a call that holds this
    /// lock, as in DllMain(), ends the program with a message.
    void join() {
        refuse_loader_lock();
        std::thread::join();
        release_module();
    }
};
#else
/// A thread of the operating system: std::thread. The constructor throws std::system_error
/// (resource_unavailable_try_again) if the system refuses to start a thread.
using thread = std::thread;
#endif

/// Gives up the rest of this thread's time slice.
inline void yield() noexcept { std::this_thread::yield(); }

/// Returns the calling thread's own object of type T. The object is zero before its first use. T must be
/// trivially destructible, so that the object remains usable while other thread_local objects of the thread
/// are destroyed. To clean up at the end of the thread, use at_thread_exit().
template <class T>
[[nodiscard]] inline T& local() noexcept {
    static_assert(std::is_trivially_destructible_v<T>);
    static thread_local constinit T value{};
    return value;
}

} // namespace ekiden::inline EKIDEN_ABI::sys
#endif

namespace ekiden::inline EKIDEN_ABI::sys {

/// Calls `action(argument)` when the calling thread ends. The action that was registered last runs first. An
/// action may register another action. If the thread's actions have already run, returns false and never
/// calls the action. In destructors of static objects, the actions have already run. In destructors of
/// thread_local objects, the actions may have run. Throws std::bad_alloc.
[[nodiscard]] bool at_thread_exit(void (*action)(void*), void* argument);

/// Sets the name that debuggers and system tools show for the calling thread. The name is cut to at most
/// 15 bytes on Linux and 63 bytes on macOS, but never inside a UTF-8 character.
void set_thread_name(std::string_view name) noexcept;
/// Sets the name `name`-`suffix`. If there is no memory for this text, sets the name `name`.
inline void set_thread_name(std::string_view name, std::string_view suffix) noexcept {
    try {
        sys::set_thread_name(std::string(name).append("-").append(suffix));
    } catch (...) {
        sys::set_thread_name(name);
    }
}

/// Returns the name of the calling thread. Either set_thread_name() or the system has set this name. The
/// result is empty if the name is unknown.
[[nodiscard]] std::string this_thread_name();

/// Returns the number that the system's tools show for the calling thread. No two living threads have the
/// same number.
[[nodiscard]] std::uint64_t system_thread_id() noexcept;

/// Restricts the calling thread to the processors `cpus`. Returns false if the system refuses this or cannot
/// restrict threads.
[[nodiscard]] bool set_thread_affinity(std::span<const int> cpus) noexcept;

} // namespace ekiden::inline EKIDEN_ABI::sys

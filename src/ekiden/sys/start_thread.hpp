/// Starts a thread of the library. If the system refuses to start the thread, the message names the owner of
/// the thread.
///
/// Part: sys. Used by: loop, observe, pool, sim, timer. Private.
#pragma once

#include <ekiden/sys/thread.hpp>

#include <string>
#include <system_error>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::sys {

#if defined(__APPLE__)
/// Returns the class of the calling thread (quality of service), but at most QOS_CLASS_USER_INITIATED.
/// Private.
[[nodiscard]] unsigned quality_of_service() noexcept;
/// Gives the calling thread this class. Private.
void set_quality_of_service(unsigned wanted) noexcept;
#endif

/// Starts a thread that calls `run`. If the system refuses to start the thread, throws std::system_error with
/// the system's code and the text "ekiden: <whose>: cannot start <what>: <the system's reason>". Throws
/// std::bad_alloc.
template <class Run>
[[nodiscard]] thread start_thread(const char* whose, const char* what, Run run) {
    try {
#if defined(__APPLE__)
        // macOS would give each new thread the same class.
        return thread([run = std::move(run), wanted = quality_of_service()]() mutable {
            set_quality_of_service(wanted);
            run();
        });
#else
        return thread(std::move(run));
#endif
    } catch (const std::system_error& refusal) {
        throw std::system_error(refusal.code(), std::string("ekiden: ") + whose + ": cannot start " + what);
    }
}

} // namespace ekiden::inline EKIDEN_ABI::sys

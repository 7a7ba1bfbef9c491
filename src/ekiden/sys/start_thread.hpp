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

/// Starts a thread that calls `run`. If the system refuses to start the thread, throws std::system_error with
/// the system's code and the text "ekiden: <whose>: cannot start <what>: <the system's reason>". Throws
/// std::bad_alloc.
template <class Run>
[[nodiscard]] thread start_thread(const char* whose, const char* what, Run run) {
    try {
        return thread(std::move(run));
    } catch (const std::system_error& refusal) {
        throw std::system_error(refusal.code(), std::string("ekiden: ") + whose + ": cannot start " + what);
    }
}

} // namespace ekiden::inline EKIDEN_ABI::sys

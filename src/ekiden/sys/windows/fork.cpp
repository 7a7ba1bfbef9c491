#include <ekiden/sys/fork.hpp>

#include <ekiden/sys/windows/ending.hpp>

#include <array>
#include <cstddef>
#include <windows.h>

namespace ekiden::inline EKIDEN_ABI::sys {
namespace {

/// The handlers for the child.
struct fork_handlers {
    std::array<void (*)(), 16> list{};
    std::size_t count = 0; // only the loading of the module changes it
};
constinit fork_handlers handlers;

// Windows has no fork(). But a process that exits is in the same state as the child of a fork(): only one
// thread exists. The system ends the other threads before it tells the DLLs about the end. So the end of the
// process counts as a fork, and pools of a DLL are abandoned instead of joined. The handlers for the child
// give back locks that an ended thread may hold.

/// The system calls this function when it loads and unloads the module that contains the library, and when
/// threads begin and end.
void NTAPI on_event_of_module(void*, DWORD reason, void*) noexcept {
    if (reason != DLL_PROCESS_DETACH || !has_lost_other_threads()) return;
    ++fork_generation_here;
    for (std::size_t i = 0; i != handlers.count; ++i) handlers.list[i]();
}

} // namespace

bool at_fork(void (*)(), void (*)(), void (*in_child)()) noexcept {
    if (in_child == nullptr) return true;
    if (handlers.count == handlers.list.size()) return false;
    handlers.list[handlers.count++] = in_child;
    return true;
}

std::uint16_t fork_generation_here = 0;

// The list of such functions of a module. The linker sorts it by the letters after the $. The system calls
// this function before those of the compiler, which run destructors.
#if defined(_MSC_VER) && !defined(__clang__)
#pragma comment(linker, "/INCLUDE:_tls_used")
#pragma const_seg(".CRT$XLAB")
extern "C" const PIMAGE_TLS_CALLBACK ekiden_on_event_of_module = &on_event_of_module;
#pragma const_seg()
#else
[[gnu::section(".CRT$XLAB"), gnu::used]] PIMAGE_TLS_CALLBACK call_on_event_of_module = &on_event_of_module;
#endif

} // namespace ekiden::inline EKIDEN_ABI::sys

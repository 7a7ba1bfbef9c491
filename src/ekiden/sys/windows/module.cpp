#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/thread.hpp>
#include <ekiden/sys/windows/ending.hpp>
#include <ekiden/sys/windows/system_function.hpp>

#include <cstddef>
#include <cstring>
#include <windows.h>

namespace ekiden::inline EKIDEN_ABI::sys {
namespace {

// Found when the module is loaded, because a thread at the end of the process must not wait for a lock.
BOOLEAN(NTAPI* const is_shutting_down)() = system_function<BOOLEAN NTAPI()>(L"ntdll.dll",
                                                                            "RtlDllShutdownInProgress");
void*(NTAPI* const process_block)() = system_function<void * NTAPI()>(L"ntdll.dll", "RtlGetCurrentPeb");

constinit const char in_this_module = 0;

HMODULE this_module(DWORD flags) noexcept {
    HMODULE module = nullptr;
    const bool is_known =
        ::GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | flags, &in_this_module, &module) != 0;
    expects(is_known, "the system does not know the module that contains the library");
    return module;
}

/// Returns the lock that the system holds while it calls DllMain(), or null. The documents do not name the
/// lock, but its place has been the same in all versions of Windows.
const RTL_CRITICAL_SECTION* loader_lock() noexcept {
    constexpr std::size_t place = sizeof(void*) == 8 ? 0x110 : 0xA0;
    const RTL_CRITICAL_SECTION* lock = nullptr;
    if (process_block != nullptr)
        std::memcpy(&lock, static_cast<const std::byte*>(process_block()) + place, sizeof lock);
    return lock;
}

} // namespace

bool has_lost_other_threads() noexcept { return is_shutting_down != nullptr && is_shutting_down() != FALSE; }

void hold_module() noexcept { (void)this_module(0); }

void release_module() noexcept {
    (void)::FreeLibrary(this_module(GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT));
}

void refuse_loader_lock() noexcept {
    const RTL_CRITICAL_SECTION* const lock = loader_lock();
    const auto self = static_cast<ULONG_PTR>(::GetCurrentThreadId());
    expects(
        lock == nullptr || reinterpret_cast<ULONG_PTR>(lock->OwningThread) != self,
        "a thread is joined by a thread that holds the loader lock, as DllMain() and the destructors of a "
        "DLL's static objects do; the joined thread needs this lock to end. Destroy the pool before");
}

} // namespace ekiden::inline EKIDEN_ABI::sys

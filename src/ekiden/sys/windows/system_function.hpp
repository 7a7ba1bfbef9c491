/// Functions that only some versions of Windows have.
///
/// Part: sys. Used by: the sources of sys for Windows. Private.
#pragma once

#include <ekiden/sys/config.hpp>

#include <windows.h>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Returns a function of a DLL that each process has, or null if this version of the system lacks the
/// function.
template <class Function>
Function* system_function(const wchar_t* dll, const char* name) noexcept {
    const HMODULE module = ::GetModuleHandleW(dll);
    return module == nullptr
               ? nullptr
               : reinterpret_cast<Function*>(reinterpret_cast<void*>(::GetProcAddress(module, name)));
}

} // namespace ekiden::inline EKIDEN_ABI::sys

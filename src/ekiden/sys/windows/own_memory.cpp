#include <ekiden/sys/own_memory.hpp>

#include <windows.h>

namespace ekiden::inline EKIDEN_ABI::sys {
namespace {

/// Returns whether all pages of the memory exist and can be read. Another thread may change this at any time.
bool is_readable(const std::byte* begin, std::size_t size) noexcept {
    for (std::size_t passed = 0; passed < size;) {
        MEMORY_BASIC_INFORMATION region{};
        if (::VirtualQuery(begin + passed, &region, sizeof region) == 0) return false;
        constexpr DWORD unreadable = PAGE_NOACCESS | PAGE_GUARD | PAGE_EXECUTE;
        if (region.State != MEM_COMMIT || (region.Protect & unreadable) != 0) return false;
        const auto* const end = static_cast<const std::byte*>(region.BaseAddress) + region.RegionSize;
        passed = static_cast<std::size_t>(end - begin);
    }
    return true;
}

} // namespace

// ReadProcessMemory() alone would not do: Wine also reads pages that no access may touch.
bool copy_if_readable(void* to, const void* from, std::size_t size) noexcept {
    if (!is_readable(static_cast<const std::byte*>(from), size)) return false;
    SIZE_T copied = 0;
    return ::ReadProcessMemory(::GetCurrentProcess(), from, to, size, &copied) != 0 && copied == size;
}

} // namespace ekiden::inline EKIDEN_ABI::sys

#include <ekiden/sys/call_stack.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <windows.h>

namespace ekiden::inline EKIDEN_ABI::sys {
namespace {

/// Returns FILE(+OFFSET). The offset is relative to the place of the module in memory.
std::string place_of(void* address) {
    HMODULE module = nullptr;
    constexpr DWORD by_address =
        GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    std::array<char, MAX_PATH> file{};
    if (::GetModuleHandleExA(by_address, static_cast<const char*>(address), &module) == 0
        || ::GetModuleFileNameA(module, file.data(), static_cast<DWORD>(file.size())) == 0)
        module = nullptr;
    std::array<char, 32> offset{};
    const auto distance =
        reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(module);
    (void)std::snprintf(offset.data(), offset.size(), "(+0x%llx)", static_cast<unsigned long long>(distance));
    return std::string(file.data()) + offset.data();
}

} // namespace

std::string call_stack(const char* indent) {
    std::array<void*, 24> frames{};
    const unsigned count =
        ::RtlCaptureStackBackTrace(1, static_cast<DWORD>(frames.size()), frames.data(), nullptr);
    std::string text;
    for (std::size_t i = 0; i != count; ++i) ((text += indent) += place_of(frames[i])) += '\n';
    return text;
}

// Windows sends no signals to threads. So there are no call stacks of other threads, and the signal is
// refused.
bool accept_stack_signal(int) noexcept { return false; }
std::string call_stack_of(const thread_probe&, int, const char*) { return {}; }

} // namespace ekiden::inline EKIDEN_ABI::sys

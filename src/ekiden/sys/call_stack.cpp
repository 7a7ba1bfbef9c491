#include <ekiden/sys/call_stack.hpp>

#if __has_include(<execinfo.h>)
#include <execinfo.h>

#include <array>
#include <cstdlib>
#endif

namespace ekiden::inline EKIDEN_ABI::sys {

#if __has_include(<execinfo.h>)
std::string call_stack(const char* indent) {
    std::array<void*, 24> frames{};
    const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
    char** const names = ::backtrace_symbols(frames.data(), count);
    if (names == nullptr) return {};
    std::string text;
    for (int i = 1; i < count; ++i) ((text += indent) += names[i]) += '\n';
    std::free(static_cast<void*>(names)); // NOLINT: the system allocated the memory with malloc
    return text;
}
#else
std::string call_stack(const char*) { return {}; }
#endif

} // namespace ekiden::inline EKIDEN_ABI::sys

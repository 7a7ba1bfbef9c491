#include <ekiden/sys/thread.hpp>

#include <algorithm>
#include <cstddef>
#include <pthread.h>

namespace ekiden::inline EKIDEN_ABI::sys {
namespace {

// The system refuses a longer name. The last byte is the end of the string.
#if defined(__APPLE__)
constexpr std::size_t most_bytes = 64;
#else
constexpr std::size_t most_bytes = 16;
#endif

} // namespace

void set_thread_name(std::string_view name) noexcept {
    char buffer[most_bytes] = {};
    std::size_t length = std::min(name.size(), sizeof buffer - 1);
    // Does not cut a UTF-8 character in two, because tools that list threads could not show half of a
    // character.
    while (length != 0 && length != name.size()
           && (static_cast<unsigned char>(name[length]) & 0xc0U) == 0x80U)
        --length;
    (void)name.copy(buffer, length);
#if defined(__APPLE__)
    (void)pthread_setname_np(buffer);
#else
    (void)pthread_setname_np(pthread_self(), buffer);
#endif
}

std::string this_thread_name() {
    char buffer[most_bytes] = {};
    (void)pthread_getname_np(pthread_self(), buffer, sizeof buffer);
    return buffer;
}

} // namespace ekiden::inline EKIDEN_ABI::sys

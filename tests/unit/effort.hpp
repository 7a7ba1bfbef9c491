/// How much a stress test does in this build.
#pragma once

namespace ekiden_test {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool is_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif
#else
inline constexpr bool is_sanitized = false;
#endif

#if defined(EKIDEN_TEST_EMULATOR)
inline constexpr bool is_emulated = true;
#else
inline constexpr bool is_emulated = false;
#endif

/// Returns `full`, or a tenth of it in a build with a sanitizer or in an emulator, which are slow.
[[nodiscard]] constexpr int rounds(int full) noexcept {
    return is_sanitized || is_emulated ? full / 10 : full;
}

} // namespace ekiden_test

/// Properties of the platform and the build that every other header needs.
///
/// Part: sys. Used by: every part.
#pragma once

#include <ekiden/sys/version.hpp>

#include <cstddef>
#include <limits>
#include <version>

// Without this check, an older compiler would print a hundred unrelated errors first.
#if __cplusplus < 202002L
#error "ekiden needs C++20: compile with -std=c++20"
#endif
#if !defined(__cpp_exceptions)
#error "ekiden needs exceptions: compile without -fno-exceptions"
#endif
#if !defined(__cpp_lib_jthread)
#error "ekiden needs std::stop_token: with libc++ before 20, compile with -fexperimental-library"
#endif

/// Defined if ThreadSanitizer instruments this translation unit. The timed build uses the instrumentation,
/// but not ThreadSanitizer (see computed/).
#if defined(EKIDEN_TIMED)
#elif defined(__SANITIZE_THREAD__)
#define EKIDEN_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define EKIDEN_TSAN 1
#endif
#endif

/// Defined if AddressSanitizer instruments this translation unit.
#if defined(__SANITIZE_ADDRESS__)
#define EKIDEN_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EKIDEN_ASAN 1
#endif
#endif

/// Lets clang 20 and newer place the frame of a coroutine in the frame of the coroutine that awaits it at
/// once. Other compilers ignore the name.
#if defined(__has_cpp_attribute)
#if __has_cpp_attribute(clang::coro_await_elidable)
#define EKIDEN_AWAIT_ELIDABLE [[clang::coro_await_elidable]]
#endif
#endif
#if !defined(EKIDEN_AWAIT_ELIDABLE)
#define EKIDEN_AWAIT_ELIDABLE
#endif

// The extensions of compilers have names here. No other part names an extension.

/// Marks a variable that several object files of a program may define. The linker keeps one definition.
#if defined(_MSC_VER) && !defined(__clang__)
#define EKIDEN_ONE_OF_MANY __declspec(selectany)
#elif defined(_WIN32)
#define EKIDEN_ONE_OF_MANY [[gnu::selectany]]
#else
#define EKIDEN_ONE_OF_MANY [[gnu::weak]]
#endif

// The marks of functions. They stand before the declaration, after attributes of the standard.
#if defined(__GNUC__)
#define EKIDEN_NOINLINE [[gnu::noinline]]
#define EKIDEN_ALWAYS_INLINE [[gnu::always_inline]]
#define EKIDEN_COLD [[gnu::cold]] // rarely called
#define EKIDEN_USED [[gnu::used]] // the compiler keeps the definition, although no code refers to it
#elif defined(_MSC_VER)
#define EKIDEN_NOINLINE [[msvc::noinline]]
#define EKIDEN_ALWAYS_INLINE [[msvc::forceinline]]
#define EKIDEN_COLD
#define EKIDEN_USED
#else
#define EKIDEN_NOINLINE
#define EKIDEN_ALWAYS_INLINE
#define EKIDEN_COLD
#define EKIDEN_USED
#endif

/// The inline namespace of all names in ekiden. Builds that must not be linked with each other use different
/// inline namespaces. The checking build (see check/) and the timed build (see computed/) have a namespace
/// each. There are more for builds with annotated locks (see lock_annotation.hpp), for builds with lock
/// checks (see context/held_locks.hpp), and for the lab's build without traces.
#if defined(EKIDEN_CHECKING)
#define EKIDEN_ABI checked
#elif defined(EKIDEN_TIMED)
#define EKIDEN_ABI timed
#elif defined(EKIDEN_UNTRACED)
#define EKIDEN_ABI untraced
#elif defined(EKIDEN_TSAN) && defined(EKIDEN_ANNOTATE_LOCKS) && defined(EKIDEN_LOCK_CHECKS)
#define EKIDEN_ABI annotated_with_lock_checks
#elif defined(EKIDEN_TSAN) && defined(EKIDEN_ANNOTATE_LOCKS)
#define EKIDEN_ABI annotated
#elif defined(EKIDEN_LOCK_CHECKS)
#define EKIDEN_ABI with_lock_checks
#else
#define EKIDEN_ABI v0
#endif

namespace ekiden::inline EKIDEN_ABI::sys {

/// The number of bytes that the hardware moves between cores as one unit.
inline constexpr std::size_t cache_line = 64;

/// The distance in bytes between data that different threads write. The distance is two cache lines, because
/// x86 processors fetch lines in pairs, and several ARM64 cores have lines of 128 bytes.
inline constexpr std::size_t isolation = 128;

/// Asks the processor to load the cache line at `address`. The address need not be valid.
EKIDEN_ALWAYS_INLINE inline void prefetch(const void* address) noexcept {
#if defined(__GNUC__)
    __builtin_prefetch(address);
#else
    (void)address;
#endif
}

/// Loads the cache line like prefetch(). The calling thread will write to the line.
EKIDEN_ALWAYS_INLINE inline void prefetch_to_write(const void* address) noexcept {
#if defined(__GNUC__)
    __builtin_prefetch(address, 1);
#else
    (void)address;
#endif
}

/// Sets `sum` to a + b, and returns false. If the sum overflows, returns true. Then `sum` has no meaning. T
/// is an integer type.
template <class T>
[[nodiscard]] constexpr bool add_overflows(T a, T b, T& sum) noexcept {
#if defined(__GNUC__)
    return __builtin_add_overflow(a, b, &sum);
#else
    using limits = std::numeric_limits<T>;
    if (b > 0 ? a > limits::max() - b : a < limits::min() - b) return true;
    sum = static_cast<T>(a + b);
    return false;
#endif
}

} // namespace ekiden::inline EKIDEN_ABI::sys

/// Makes pthread_create fail, and counts the threads of the process. Include it in only one source of an
/// executable, because it defines pthread_create.
#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <pthread.h>
#include <thread>
#if !defined(_WIN32)
#include <dlfcn.h>
#endif
#if defined(__APPLE__)
#include <tests/unit/thread_count_macos.hpp>
#endif

namespace ekiden_test {

/// The number of threads that can still be started before a start fails. -1: all starts succeed.
inline std::atomic<int> threads_until_failure{-1};

} // namespace ekiden_test

#if defined(_WIN32)
// The linker passes the calls here: the option --wrap.
extern "C" {
int __real_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                          void* argument) {
    using ekiden_test::threads_until_failure;
    if (threads_until_failure >= 0 && threads_until_failure-- == 0) return EAGAIN;
    return __real_pthread_create(thread, attributes, start, argument);
}
}

namespace ekiden_test {

/// Returns the number of threads of this process.
int threads_of_this_process();
inline int count_threads_now() { return threads_of_this_process(); }

} // namespace ekiden_test
#else
extern "C" {
using create_function = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
#if defined(__APPLE__) // the sanitizers replace the function in another way
constexpr create_function __interceptor_pthread_create = nullptr;
#else
// The sanitizers' own function, if a sanitizer is linked in.
[[gnu::weak]] int __interceptor_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
#endif

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) {
    using ekiden_test::threads_until_failure;
    if (threads_until_failure >= 0 && threads_until_failure-- == 0) return EAGAIN;
    if (__interceptor_pthread_create != nullptr) {
        return __interceptor_pthread_create(thread, attributes, start, argument);
    }
    static const auto real = reinterpret_cast<create_function>(dlsym(RTLD_NEXT, "pthread_create"));
    return real(thread, attributes, start, argument);
}
}

namespace ekiden_test {

inline int count_threads_now() {
    static const bool warm =
        (std::thread([] {}).join(), true); // the sanitizers start a thread together with the first one
    (void)warm;
#if defined(__APPLE__)
    return count_threads_of_process();
#else
    int threads = 0;
    if (std::FILE* status = std::fopen("/proc/self/status", "r")) {
        char line[256];
        while (std::fgets(line, sizeof line, status) != nullptr) std::sscanf(line, "Threads: %d", &threads);
        std::fclose(status);
    }
    return threads;
#endif
}

} // namespace ekiden_test
#endif

namespace ekiden_test {

/// Returns the number of threads of this process. Waits up to a second until it is `expected`, because a
/// joined thread may still be ending in the kernel.
inline int count_threads(int expected) {
    int threads = 0;
    for (int i = 0; i != 1000; ++i) {
        threads = count_threads_now();
        if (threads == expected) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return threads;
}

} // namespace ekiden_test

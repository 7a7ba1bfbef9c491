/// Lets pthread_create fail, and counts the threads of the process. To be included by one source of an
/// executable: it defines that executable's own pthread_create.
#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <dlfcn.h>
#include <pthread.h>
#include <thread>

namespace ekiden_test {

/// After so many more threads one cannot be started. -1: each can.
inline std::atomic<int> threads_until_failure{-1};

} // namespace ekiden_test

extern "C" {
using create_function = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
// The sanitizers' own, where one is linked in.
[[gnu::weak]] int __interceptor_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

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
        (std::thread([] {}).join(), true); // the sanitizers start a thread beside the first one
    (void)warm;
    int threads = 0;
    if (std::FILE* status = std::fopen("/proc/self/status", "r")) {
        char line[256];
        while (std::fgets(line, sizeof line, status) != nullptr) std::sscanf(line, "Threads: %d", &threads);
        std::fclose(status);
    }
    return threads;
}

/// The threads of this process; `expected` if that is so within a second. A thread that has been joined may
/// still be on its last steps in the kernel.
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

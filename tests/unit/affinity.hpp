/// The processors that the process and its threads may use.
#pragma once

#if defined(__APPLE__)
#include <thread>
#elif !defined(_WIN32)
#include <cstddef>
#include <sched.h>
#include <unistd.h>
#endif

namespace ekiden_test {

#if defined(_WIN32)
[[nodiscard]] int processors_of_this_thread();

/// Restricts the process to one processor, until the end of the scope.
class one_processor {
public:
    one_processor();
    ~one_processor();
    one_processor(const one_processor&) = delete;
    one_processor& operator=(const one_processor&) = delete;

private:
    unsigned long long before_ = 0;
};
#elif defined(__APPLE__)
[[nodiscard]] inline int processors_of_this_thread() {
    return static_cast<int>(std::thread::hardware_concurrency());
}

/// macOS cannot restrict the process, so the tests that use this class are skipped.
class one_processor {
public:
    ~one_processor() {} // NOLINT: an object without a destructor would be an unused variable
};
#else
/// Returns how many processors the calling thread may use.
[[nodiscard]] inline int processors_of_this_thread() {
    cpu_set_t set;
    ::sched_getaffinity(0, sizeof set, &set);
    return CPU_COUNT(&set);
}

/// Restricts the main thread to one processor, until the end of the scope.
class one_processor {
public:
    one_processor() {
        ::sched_getaffinity(::getpid(), sizeof before_, &before_);
        std::size_t first = 0;
        while (!CPU_ISSET(first, &before_)) ++first;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(first, &one);
        ::sched_setaffinity(::getpid(), sizeof one, &one);
    }
    ~one_processor() { ::sched_setaffinity(::getpid(), sizeof before_, &before_); }
    one_processor(const one_processor&) = delete;
    one_processor& operator=(const one_processor&) = delete;

private:
    cpu_set_t before_{};
};
#endif

} // namespace ekiden_test

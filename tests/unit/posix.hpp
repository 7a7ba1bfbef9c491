/// What tests use of POSIX. On Windows, the header has the same names, and a test case that needs more is
/// skipped with a reason. The same holds for macOS and a test case that needs Linux.
#pragma once

#include <csignal>
#include <doctest/doctest.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#if defined(_WIN32)
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <io.h>
#include <thread>
#else
#include <sys/wait.h>
#endif

#if defined(__APPLE__)
/// Ends the test case if the system is macOS. The output tells the reason, and CTest counts the case as
/// skipped.
#define EKIDEN_SKIP_ON_MACOS(reason)                                                                         \
    do {                                                                                                     \
        MESSAGE("skipped on macOS: " reason);                                                                \
        return;                                                                                              \
    } while (false)
#else
#define EKIDEN_SKIP_ON_MACOS(reason) (void)0
#endif

#if defined(_WIN32)
/// Ends the test case if the system is Windows. The output tells the reason, and CTest counts the case as
/// skipped.
#define EKIDEN_SKIP_ON_WINDOWS(reason)                                                                       \
    do {                                                                                                     \
        MESSAGE("skipped on Windows: " reason);                                                              \
        return;                                                                                              \
    } while (false)

#if defined(__clang__)
#define EKIDEN_SKIP_WITH_GCC_ON_WINDOWS(reason) (void)0
#else
#define EKIDEN_SKIP_WITH_GCC_ON_WINDOWS(reason) EKIDEN_SKIP_ON_WINDOWS("g++ there " reason)
#endif

// The tests that use these names are skipped.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" // POSIX has a function and a type of this name
enum { SIGKILL = 9, SIGALRM = 14, SIGURG = 23, SIGUSR1 = 30, SIGUSR2 = 31 };
struct sigaction {
    void (*sa_handler)(int);
    int sa_flags;
};
inline int sigaction(int, const struct sigaction*, struct sigaction*) { std::abort(); }
#pragma GCC diagnostic pop
using sigset_t = unsigned long;
inline int sigfillset(sigset_t*) { std::abort(); }
#undef pthread_sigmask
inline int pthread_sigmask(int, const sigset_t*, sigset_t*) { std::abort(); }
inline int fork() { std::abort(); }
inline int waitpid(int, int*, int) { std::abort(); }
inline bool WIFEXITED(int) { std::abort(); }
inline int WEXITSTATUS(int) { std::abort(); }
inline bool WIFSIGNALED(int) { std::abort(); }
inline int WTERMSIG(int) { std::abort(); }

// These names work as on POSIX.
inline int pipe(int* ends) { return ::_pipe(ends, 1 << 16, _O_BINARY | _O_NOINHERIT); }
inline int pause() {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}
/// Ends the process after a time, if the process has not ended before.
inline unsigned alarm(unsigned seconds) {
    std::thread([seconds] {
        std::this_thread::sleep_for(std::chrono::seconds(seconds));
        std::_Exit(128 + SIGALRM);
    }).detach();
    return 0;
}
#else
#define EKIDEN_SKIP_ON_WINDOWS(reason) (void)0
#define EKIDEN_SKIP_WITH_GCC_ON_WINDOWS(reason) (void)0
#endif

/// Runs code in a child process, because the code ends its process or would disturb this one.
#pragma once

#if defined(_WIN32)
#include <tests/unit/child_process_windows.hpp>
#else

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace ekiden_test {

struct child_result {
    int exit_code = -1; ///< if it has exited
    int signal = 0;     ///< if a signal has terminated it
    std::string error_output;
};

/// Forks. The child calls `body` and exits with 0, or with the status that it passes to std::exit. SIGALRM
/// terminates a child that has not ended after a minute.
template <class F>
child_result run_in_child(F&& body) {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    const pid_t child = ::fork();
    if (child < 0) std::abort();
    if (child == 0) {
        ::close(ends[0]);
        ::dup2(ends[1], STDERR_FILENO);
        // Removes the handlers of the test framework.
        for (const int s : {SIGABRT, SIGSEGV, SIGALRM}) std::signal(s, SIG_DFL);
        ::alarm(60);
        body();
        std::exit(0);
    }
    ::close(ends[1]);
    child_result result;
    char buffer[4096];
    for (ssize_t n; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
        result.error_output.append(buffer, static_cast<std::size_t>(n));
    }
    ::close(ends[0]);
#if defined(EKIDEN_TEST_EMULATOR) // a message of the emulator about a signal does not come from the child
    if (const auto remark = result.error_output.find("qemu: uncaught target signal");
        remark != std::string::npos)
        result.error_output.erase(remark, result.error_output.find('\n', remark) + 1 - remark);
#endif
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
    return result;
}

/// Returns whether a child of a fork() can start threads. Some emulators, such as QEMU 7.2, terminate the
/// child instead if the parent has threads. A test that needs this is skipped then.
inline bool can_child_start_threads() {
#if defined(EKIDEN_TEST_EMULATOR)
    static const bool can = [] {
        std::atomic<bool> is_over{false};
        std::thread other([&is_over] {
            while (!is_over) std::this_thread::yield();
        });
        const child_result child = run_in_child([] { std::thread([] {}).join(); });
        is_over = true;
        other.join();
        return child.exit_code == 0;
    }();
    return can;
#else
    return true;
#endif
}

} // namespace ekiden_test
#endif

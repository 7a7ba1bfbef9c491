/// Runs code that ends its process, or must not disturb this one, in a child.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace ekiden_test {

struct child_result {
    int exit_code = -1; ///< if it exited
    int signal = 0;     ///< if a signal ended it
    std::string error_output;
};

/// Forks; the child calls `body` and exits with 0, or with what std::exit and the like say. A child that has
/// not ended after a minute is ended by SIGALRM.
template <class F>
child_result run_in_child(F&& body) {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    const pid_t child = ::fork();
    if (child < 0) std::abort();
    if (child == 0) {
        ::close(ends[0]);
        ::dup2(ends[1], STDERR_FILENO);
        for (const int s : {SIGABRT, SIGSEGV, SIGALRM}) std::signal(s, SIG_DFL); // not the test framework's
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
#if defined(EKIDEN_TEST_EMULATOR) // its remark on a signal is not the child's
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

/// Whether a child of a fork() can start threads. In some emulators, QEMU 7.2 for one, that ends the child,
/// if the parent has threads; then a test that needs it has nothing to show.
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

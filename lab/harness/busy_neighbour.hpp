/// Another process that keeps one processor busy.
///
/// Used by: fork-join.
#pragma once

#include <lab/harness/affinity.hpp>
#include <lab/harness/busy.hpp>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <sched.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lab {

/// Keeps the last of the processors that this process may use busy until it is destroyed; ends with this
/// process.
class busy_neighbour {
public:
    /// Throws std::runtime_error if the system gives no process.
    busy_neighbour() {
        cpu_set_t last;
        CPU_ZERO(&last);
        CPU_SET(static_cast<std::size_t>(usable_cpus().back()), &last);
        process_ = fork();
        if (process_ < 0) throw std::runtime_error("lab: no process for a busy neighbour");
        if (process_ != 0) return;
        // The child of a process with threads: nothing but system calls and work.
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sched_setaffinity(0, sizeof last, &last);
        for (;;) static_cast<void>(turn(1'000'000, 1));
    }
    ~busy_neighbour() {
        kill(process_, SIGKILL);
        while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    busy_neighbour(const busy_neighbour&) = delete;
    busy_neighbour& operator=(const busy_neighbour&) = delete;

private:
    pid_t process_ = 0;
};

} // namespace lab

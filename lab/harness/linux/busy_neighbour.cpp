#include <lab/harness/busy.hpp>
#include <lab/harness/busy_neighbour.hpp>

#include <cerrno>
#include <csignal>
#include <sched.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lab {

busy_neighbour::busy_neighbour(int processor) {
    cpu_set_t last;
    CPU_ZERO(&last);
    CPU_SET(static_cast<std::size_t>(processor), &last);
    const pid_t process = fork();
    if (process < 0) throw std::runtime_error("lab: no process for a busy neighbour");
    process_ = process;
    if (process != 0) return;
    // This is the child of a process with threads, so it makes only system calls and computes.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sched_setaffinity(0, sizeof last, &last);
    for (;;) static_cast<void>(turn(1'000'000, 1));
}

busy_neighbour::~busy_neighbour() {
    const auto process = static_cast<pid_t>(process_);
    kill(process, SIGKILL);
    while (waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
    }
}

bool is_busy_neighbour(int, char**) { return false; }

} // namespace lab

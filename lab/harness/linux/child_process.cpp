#include <lab/harness/child_process.hpp>
#include <lab/harness/interrupt.hpp>
#include <lab/harness/usage.hpp>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace lab {
namespace {

struct pipe_ends {
    int read = -1;
    int write = -1;
};

pipe_ends make_pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
    return {.read = ends[0], .write = ends[1]};
}

// Runs in the child after fork. No other thread exists, and all calls except setenv are async-signal-safe.
[[noreturn]] void become(const std::string& program, const std::vector<std::string>& arguments,
                         const std::string& preload, int report, int diagnostics) {
    setpgid(0, 0);
    forget_interrupts();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
    setrlimit(RLIMIT_CORE, &no_core);
    // Copies the pipes first, because their numbers may be among the wanted ones.
    const int report_copy = fcntl(report, F_DUPFD, 10);
    const int diagnostics_copy = fcntl(diagnostics, F_DUPFD, 10);
    dup2(diagnostics_copy, STDOUT_FILENO);
    dup2(diagnostics_copy, STDERR_FILENO);
    dup2(report_copy, child_report_descriptor);
    close(report_copy);
    close(diagnostics_copy);
    if (!preload.empty()) setenv("LD_PRELOAD", preload.c_str(), 1);
    std::vector<char*> argv{const_cast<char*>(program.c_str())};
    for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    execv(program.c_str(), argv.data());
    std::fprintf(stderr, "cannot start %s: %s\n", program.c_str(), std::strerror(errno));
    _exit(127);
}

// Appends the available data. Returns false at the end of the stream.
bool drain(int descriptor, std::string& to) {
    std::array<char, 65536> buffer;
    const ssize_t n = read(descriptor, buffer.data(), buffer.size());
    if (n < 0) return errno == EINTR || errno == EAGAIN;
    to.append(buffer.data(), static_cast<std::size_t>(n));
    return n > 0;
}

// Reads both streams until the child has closed them. Returns `exited`, unless the deadline or an
// interruption comes first.
child_outcome::ending collect(int report, int diagnostics, double deadline_s, child_outcome& outcome) {
    std::array<pollfd, 3> streams{pollfd{report, POLLIN, 0}, pollfd{diagnostics, POLLIN, 0},
                                  pollfd{interrupt_descriptor(), POLLIN, 0}};
    const std::array<std::string*, 2> texts{&outcome.reports, &outcome.diagnostics};
    while (streams[0].fd >= 0 || streams[1].fd >= 0) {
        const double left_ms = (deadline_s - usage_now().wall_s) * 1e3;
        if (left_ms <= 0) return child_outcome::ending::timed_out;
        if (poll(streams.data(), streams.size(), static_cast<int>(left_ms) + 1) < 0 && errno != EINTR)
            throw std::system_error(errno, std::generic_category(), "poll");
        if (streams[2].revents != 0) return child_outcome::ending::interrupted;
        for (std::size_t i = 0; i < texts.size(); ++i)
            if (streams[i].fd >= 0 && streams[i].revents != 0 && !drain(streams[i].fd, *texts[i]))
                streams[i].fd = -1; // poll ignores it from now on
    }
    return child_outcome::ending::exited;
}

} // namespace

child_outcome run_child(const std::string& program, const std::vector<std::string>& arguments, double limit_s,
                        const std::string& preload) {
    const pipe_ends report = make_pipe();
    const pipe_ends diagnostics = make_pipe();
    child_outcome outcome;
    const double deadline_s = usage_now().wall_s + limit_s;
    const pid_t child = fork();
    if (child == 0) become(program, arguments, preload, report.write, diagnostics.write);
    close(report.write);
    close(diagnostics.write);
    if (child < 0) {
        outcome.code = errno;
    } else {
        outcome.how = collect(report.read, diagnostics.read, deadline_s, outcome);
        if (outcome.how != child_outcome::ending::exited) kill(child, SIGKILL);
        int status = 0;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        kill(-child, SIGKILL); // kills all processes that it has started
        if (outcome.how == child_outcome::ending::exited) {
            if (WIFSIGNALED(status))
                outcome.how = child_outcome::ending::signalled, outcome.code = WTERMSIG(status);
            else
                outcome.code = WEXITSTATUS(status);
        }
    }
    close(report.read);
    close(diagnostics.read);
    return outcome;
}

std::string describe(const child_outcome& outcome, double limit_s) {
    std::string last = outcome.diagnostics;
    while (!last.empty() && last.back() == '\n') last.pop_back();
    if (const auto newline = last.rfind('\n'); newline != std::string::npos) last.erase(0, newline + 1);
    std::string text;
    switch (outcome.how) {
    case child_outcome::ending::exited:
        text = "ended with status " + std::to_string(outcome.code);
        break;
    case child_outcome::ending::signalled:
        text = std::string("crashed: ") + strsignal(outcome.code);
        break;
    case child_outcome::ending::timed_out:
        text = "hung: stopped after " + std::to_string(static_cast<int>(limit_s)) + " s";
        break;
    case child_outcome::ending::interrupted:
        text = "interrupted";
        break;
    case child_outcome::ending::not_started:
        text = std::string("could not be started: ") + std::strerror(outcome.code);
        break;
    }
    return last.empty() ? text : text + " (" + last + ")";
}

} // namespace lab

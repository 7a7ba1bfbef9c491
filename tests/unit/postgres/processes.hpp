/// Worker processes that a test kills.
#pragma once

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace ekiden_test {

/// A process of worker_program.cpp. The destructor asks it to end, and waits.
class worker_process {
public:
    explicit worker_process(std::string connection) : connection_(std::move(connection)) { start(); }
    ~worker_process() { end(); }
    worker_process(const worker_process&) = delete;
    worker_process& operator=(const worker_process&) = delete;

    void start() {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
        process_ = ::fork();
        if (process_ < 0) std::abort();
        if (process_ == 0) {
            ::dup2(ends[0], STDIN_FILENO);
            ::execl(EKIDEN_POSTGRES_WORKER, "postgres_worker", connection_.c_str(), nullptr);
            ::_exit(127);
        }
        ::close(ends[0]);
        input_ = ends[1];
    }
    void kill() {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
        ::close(input_);
        process_ = 0;
    }
    void signal(int number) const { ::kill(process_, number); }
    /// Returns the exit status.
    int end() {
        if (process_ == 0) return 0;
        ::close(input_);
        int status = 0;
        ::waitpid(process_, &status, 0);
        process_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    }

private:
    const std::string connection_;
    pid_t process_ = 0;
    int input_ = -1;
};

} // namespace ekiden_test

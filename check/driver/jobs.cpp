#include <check/driver/jobs.hpp>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace ekiden::check {
namespace {

struct child {
    std::size_t index;
    pid_t process;
    int pipe;
    std::string text;
};

[[noreturn]] void fail(const char* call) { throw std::system_error(errno, std::generic_category(), call); }

void write_all(int pipe, const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
        const ssize_t written = ::write(pipe, text.data() + at, text.size() - at);
        if (written < 0 && errno != EINTR) return;
        if (written > 0) at += static_cast<std::size_t>(written);
    }
}

child start(std::size_t index, const std::function<std::string(std::size_t)>& job) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) fail("pipe");
    std::fflush(stdout);
    const pid_t process = ::fork();
    if (process < 0) fail("fork");
    if (process == 0) {
        ::close(ends[0]);
        write_all(ends[1], job(index));
        // No destructors: static objects of the models belong to the last execution, not to this process.
        std::_Exit(0);
    }
    ::close(ends[1]);
    return {index, process, ends[0], {}};
}

/// Reads what is available. Returns true at the end of the pipe.
bool drain(child& c) {
    std::array<char, 65536> buffer{};
    const ssize_t got = ::read(c.pipe, buffer.data(), buffer.size());
    if (got > 0) c.text.append(buffer.data(), static_cast<std::size_t>(got));
    return got == 0 || (got < 0 && errno != EINTR);
}

} // namespace

void run_jobs(std::size_t count, unsigned width, const std::function<std::string(std::size_t)>& job,
              const std::function<void(std::size_t, const std::string&)>& done) {
    std::vector<child> running;
    for (std::size_t next = 0; next < count || !running.empty();) {
        while (next < count && running.size() < width) running.push_back(start(next++, job));
        std::vector<pollfd> waiting;
        for (const child& c : running) waiting.push_back({c.pipe, POLLIN, 0});
        if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) fail("poll");
        for (std::size_t i = running.size(); i-- > 0;) {
            if (waiting[i].revents == 0 || !drain(running[i])) continue;
            child ended = std::move(running[i]);
            running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
            ::close(ended.pipe);
            int status = 0;
            ::waitpid(ended.process, &status, 0);
            done(ended.index, status == 0 ? ended.text : std::string());
        }
    }
}

} // namespace ekiden::check

/// Workers in processes of their own, which tests kill and stop.
#pragma once

#include <doctest/doctest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <mutex>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace ekiden_test {

/// A worker_process, killed by the destructor. The lines that it writes are collected.
class worker_process {
public:
    explicit worker_process(const std::vector<std::string>& arguments) {
        int ends[2];
        REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
        std::vector<std::string> all{EKIDEN_WORKER_PROCESS};
        all.insert(all.end(), arguments.begin(), arguments.end());
        std::vector<char*> raw;
        for (std::string& one : all) raw.push_back(one.data());
        raw.push_back(nullptr);
        process_ = ::fork();
        REQUIRE(process_ >= 0);
        if (process_ == 0) {
            ::dup2(ends[1], STDOUT_FILENO);
            ::execv(raw[0], raw.data());
            std::_Exit(127);
        }
        ::close(ends[1]);
        reader_ = std::thread([this, from = ends[0]] { read(from); });
    }
    ~worker_process() {
        signal(SIGCONT);
        signal(SIGKILL);
        wait();
        reader_.join();
    }
    worker_process(const worker_process&) = delete;
    worker_process& operator=(const worker_process&) = delete;

    void signal(int number) const {
        if (process_ > 0) ::kill(process_, number);
    }
    /// Waits for the end of the process.
    void wait() {
        if (process_ <= 0) return;
        int status = 0;
        ::waitpid(process_, &status, 0);
        process_ = -1;
    }
    [[nodiscard]] std::vector<std::string> lines() const {
        const std::lock_guard inside(lock_);
        return lines_;
    }
    [[nodiscard]] std::size_t begun() const {
        const std::lock_guard inside(lock_);
        return begun_;
    }
    /// The line "ended ...", or an empty text.
    [[nodiscard]] std::string end() const {
        const std::lock_guard inside(lock_);
        return end_;
    }

private:
    void read(int from) {
        FILE* const file = ::fdopen(from, "r");
        char line[4096];
        while (std::fgets(line, sizeof line, file) != nullptr) {
            const std::lock_guard inside(lock_);
            lines_.emplace_back(line);
            if (lines_.back().starts_with("began ")) ++begun_;
            if (lines_.back().starts_with("ended ")) end_ = lines_.back();
        }
        std::fclose(file);
    }

    pid_t process_ = -1;
    mutable std::mutex lock_;
    std::vector<std::string> lines_;
    std::size_t begun_ = 0;
    std::string end_;
    std::thread reader_;
};

} // namespace ekiden_test

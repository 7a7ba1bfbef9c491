/// Other processes that keep processors busy.
///
/// Used by: fork-join, bounded-buffer, barrier, semaphore, mutex.
#pragma once

#include <lab/harness/affinity.hpp>
#include <lab/harness/busy.hpp>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <memory>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace lab {

/// Keeps one processor busy until it is destroyed. By default, it uses the last processor that this process
/// may use. It also ends with this process.
class busy_neighbour {
public:
    /// Throws std::runtime_error if the system refuses to start a process.
    busy_neighbour() : busy_neighbour(usable_cpus().back()) {}
    explicit busy_neighbour(int processor) {
        cpu_set_t last;
        CPU_ZERO(&last);
        CPU_SET(static_cast<std::size_t>(processor), &last);
        process_ = fork();
        if (process_ < 0) throw std::runtime_error("lab: no process for a busy neighbour");
        if (process_ != 0) return;
        // This is the child of a process with threads, so it makes only system calls and computes.
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

/// A busy neighbor on each processor, if the name of the cell's variant ends with ", busy". variant() returns
/// the name without that suffix.
class busy_neighbours {
public:
    explicit busy_neighbours(const std::string& variant) : variant_(variant) {
        if (!variant.ends_with(suffix)) return;
        variant_.resize(variant.size() - suffix.size());
        for (const int processor : usable_cpus()) all_.push_back(std::make_unique<busy_neighbour>(processor));
    }
    /// Returns the name of the variant without the suffix.
    [[nodiscard]] const std::string& variant() const noexcept { return variant_; }
    /// Returns whether there are busy neighbors.
    [[nodiscard]] bool any() const noexcept { return !all_.empty(); }

private:
    static constexpr std::string_view suffix = ", busy";

    std::string variant_;
    std::vector<std::unique_ptr<busy_neighbour>> all_;
};

} // namespace lab

/// Shows a round of async-growth while it runs, for all rows alike, with the library's live view.
///
/// Used by: async_growth.hpp.
#pragma once

#include <ekiden/observe/live_view.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace lab::async_growth {

class view {
public:
    /// Create it in a task, with the result of watch(). While it exists, the calling thread runs that task.
    using task = ekiden::live_view::task;

    /// `watches` keeps the lines, one per `interval`. If the lab has a terminal (LAB_LIVE_VIEW is set), it
    /// also prints them.
    view(std::chrono::milliseconds interval, bool watches) : interval_(interval), watches_(watches) {
        if (watches && std::getenv("LAB_LIVE_VIEW") != nullptr) terminal_ = std::fopen("/dev/tty", "w");
    }
    ~view() {
        if (terminal_ != nullptr) std::fclose(terminal_);
    }
    view(const view&) = delete;
    view& operator=(const view&) = delete;

    /// Calls `round`, which runs the given number of tasks. Returns how many threads took part.
    template <class F>
    std::size_t watch(std::size_t tasks, F&& round) {
        std::size_t threads = 0;
        {
            ekiden::live_view live(tasks,
                                   {.interval = interval_, .show = [this](const auto& line) { keep(line); }});
            std::forward<F>(round)(live);
            threads = live.threads();
        }
        if (terminal_ != nullptr) std::fprintf(terminal_, "\r\033[K%zu threads\n", threads);
        return threads;
    }

    /// Returns all lines in order. A line has the seconds since the round began, and then a number for each
    /// task: 0 (waits), -1 (has ended), or the number of its thread, starting at 1.
    [[nodiscard]] const std::vector<double>& lines() const { return lines_; }

private:
    void keep(const ekiden::live_line& line) {
        if (!watches_) return;
        lines_.push_back(line.seconds);
        for (const char sign : line.columns) {
            const std::size_t letter = ekiden::live_view::letters.find(sign);
            lines_.push_back(sign == ' ' ? 0 : sign == '.' ? -1 : static_cast<double>(letter + 1));
        }
        if (terminal_ == nullptr) return;
        std::fprintf(terminal_, "\r\033[K%s\n", to_text(line).c_str());
        std::fflush(terminal_);
    }

    const std::chrono::milliseconds interval_;
    const bool watches_;
    std::vector<double> lines_;
    std::FILE* terminal_ = nullptr;
};

} // namespace lab::async_growth

/// What a round of async-growth looks like while it runs: which thread runs which task.
///
/// Used by: async_growth.hpp. A line every `interval`: a column per task, with the number of the thread that
/// runs it. Where the lab has a terminal (LAB_LIVE_VIEW is set), it is shown as it happens, a character per
/// thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace lab::async_growth {

/// How many threads this process has now.
inline std::size_t threads_of_this_process() {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

class view {
public:
    view(std::size_t tasks, std::chrono::milliseconds interval, bool watches)
        : tasks_(tasks), interval_(interval), watches_(watches), column_(tasks), runs_(tasks) {
        if (watches && std::getenv("LAB_LIVE_VIEW") != nullptr) terminal_ = std::fopen("/dev/tty", "w");
    }
    ~view() {
        if (terminal_ != nullptr) std::fclose(terminal_);
    }
    view(const view&) = delete;
    view& operator=(const view&) = delete;

    void begin() {
        numbers_.clear();
        for (std::size_t i = 0; i < tasks_; ++i) {
            column_[i].store(0);
            runs_[i].store(0);
        }
        ended_ = false;
        began_ = std::chrono::steady_clock::now();
        if (watches_) watcher_ = std::thread([this] { watch(); });
    }

    /// Any thread: it begins, and ends, the task.
    void enter(std::size_t task) {
        const std::lock_guard guard(lock_);
        const int number =
            numbers_.emplace(std::this_thread::get_id(), static_cast<int>(numbers_.size()) + 1).first->second;
        column_[task].store(number);
        runs_[task].fetch_add(1);
    }
    void leave(std::size_t task) { column_[task].store(-1); }

    /// Returns what was wrong; empty if each task has run once.
    std::string end() {
        const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
        if (watcher_.joinable()) {
            {
                const std::lock_guard guard(lock_);
                ended_ = true;
            }
            watcher_.join();
            if (terminal_ != nullptr)
                std::fprintf(terminal_, "\r\033[K%.2f s in all, %zu threads\n", s, threads());
        }
        for (std::size_t i = 0; i < tasks_; ++i) {
            if (runs_[i].load() != 1)
                return "task " + std::to_string(i) + " ran " + std::to_string(runs_[i].load()) + " times";
        }
        return {};
    }

    [[nodiscard]] std::size_t threads() const { return numbers_.size(); }

    /// All lines one after the other: seconds since the round began, then for each task 0 (waits), -1 (has
    /// ended), or its thread.
    [[nodiscard]] const std::vector<double>& lines() const { return lines_; }

private:
    void watch() {
        for (auto next = began_ + interval_;; next += interval_) {
            std::this_thread::sleep_until(next);
            const std::lock_guard guard(lock_);
            if (ended_) return;
            show(std::chrono::duration<double>(next - began_).count());
        }
    }

    void show(double seconds) {
        static constexpr char letters[] =
            "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ@#$&";
        std::string text;
        int running = 0;
        lines_.push_back(seconds);
        for (const std::atomic<int>& column : column_) {
            const int number = column.load();
            lines_.push_back(number);
            running += number > 0 ? 1 : 0;
            text += number == 0 ? ' ' : number < 0 ? '.' : letters[static_cast<std::size_t>(number - 1) % 66];
        }
        if (terminal_ == nullptr) return;
        std::fprintf(terminal_, "\r\033[K%6.2f |%s| %d\n", seconds, text.c_str(), running);
        std::fflush(terminal_);
    }

    const std::size_t tasks_;
    const std::chrono::milliseconds interval_;
    const bool watches_;
    std::vector<std::atomic<int>> column_;
    std::vector<std::atomic<int>> runs_;
    std::mutex lock_;
    std::map<std::thread::id, int> numbers_;
    std::vector<double> lines_;
    std::chrono::steady_clock::time_point began_;
    bool ended_ = false;
    std::thread watcher_;
    std::FILE* terminal_ = nullptr;
};

} // namespace lab::async_growth

/// Collects the lines of a live view, so that a test can wait for one.
#pragma once

#include <ekiden/observe/live_view.hpp>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string_view>
#include <vector>

namespace ekiden_test {

class shown_lines {
public:
    /// Returns options that send a line per millisecond to this object, which must outlive the view.
    [[nodiscard]] ekiden::live_view_options options() {
        return {.interval = std::chrono::milliseconds(1), .show = [this](const ekiden::live_line& line) {
                    const std::lock_guard guard(lock_);
                    lines_.push_back(line);
                    changed_.notify_all();
                }};
    }

    /// Returns the first new line for which `is_it` is true.
    ekiden::live_line wait_for(const std::function<bool(const ekiden::live_line&)>& is_it) {
        std::unique_lock guard(lock_);
        for (std::size_t next = lines_.size();; ++next) {
            changed_.wait(guard, [&] { return next < lines_.size(); });
            if (is_it(lines_[next])) return lines_[next];
        }
    }
    /// Returns the first new line with these columns.
    ekiden::live_line wait_for(std::string_view columns) {
        return wait_for([columns](const ekiden::live_line& line) { return line.columns == columns; });
    }

    [[nodiscard]] std::vector<ekiden::live_line> all() {
        const std::lock_guard guard(lock_);
        return lines_;
    }

private:
    std::mutex lock_;
    std::condition_variable changed_;
    std::vector<ekiden::live_line> lines_;
};

} // namespace ekiden_test

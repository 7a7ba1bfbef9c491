/// Shows what runs now, as lines of text. The lines show which thread runs which task, or what each thread of
/// a pool does.
///
/// Part: observe. Used by: programs. By default, the view prints a line every 200 ms. A line has a column for
/// each task. A character in the column stands for the thread that runs the task. Modeled on a picture in an
/// article on std::async.
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/sys/thread.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// One line of a live_view. The line shows one moment.
struct live_line {
    double seconds = 0;       ///< seconds since the view began
    std::string columns = {}; ///< one character for each column
    std::size_t running = 0;  ///< number of columns in which a task runs
};

/// Returns the line as text, such as "  0.40 |01..| 2", without a newline.
[[nodiscard]] std::string to_text(const live_line& line);

/// The options of a live_view.
struct live_view_options {
    std::chrono::milliseconds interval{200}; ///< Time between two lines; at least 1 ms.
    /// The view calls `show` with each line, in a thread of the view. The destructor calls `show` with the
    /// last line. `show` must not throw. If `show` is empty, the view prints the line to standard error.
    std::function<void(const live_line&)> show = {};
};

/// A view that prints a line at each interval, and one more line when the view is destroyed. For a view in a
/// browser, see live_page(). The view has a thread of its own. The only cost for a task is its
/// live_view::task object. In the child process of a fork(), the view shows nothing.
class live_view {
public:
    using options = live_view_options;

    /// Begins a view with `columns` columns, one column for each task. The tasks create live_view::task
    /// objects. The tasks may run in any pool, or outside of pools. A column is blank before its task runs.
    /// While the task runs, the column shows the character of the task's thread. After the task, the column
    /// shows '.'. Threads get their characters in the order in which they first run a task. Throws
    /// std::invalid_argument, std::bad_alloc, and std::system_error if the system refuses to start a thread.
    explicit live_view(std::size_t columns, options chosen = {});

    /// Begins a view with a column for each thread of a pool. The columns show the result of activity() of
    /// the pool. The pool may be paused, stopped or joined during the view, but the pool must outlive the
    /// view. Throws the same exceptions as the constructor with `columns`.
    template <class Pool>
        requires requires(const Pool& one) {
            { one.activity() } -> std::same_as<std::string>;
        }
    explicit live_view(const Pool& pool, options chosen = {})
        : live_view(0, [&pool] { return pool.activity(); }, std::move(chosen)) {}

    /// Ends the view. The tasks that the view shows must have ended.
    ~live_view();
    live_view(const live_view&) = delete;
    live_view& operator=(const live_view&) = delete;

    /// A scope in which the task of a column runs on the calling thread.
    class [[nodiscard]] task {
    public:
        /// Marks the task as running. Throws std::out_of_range if the view has no column with the number
        /// `column`. Throws std::bad_alloc.
        task(live_view& view, std::size_t column);
        ~task() { shown_.store(ended, sys::relaxed); }
        task(const task&) = delete;
        task& operator=(const task&) = delete;

    private:
        sys::atomic<std::uint32_t>& shown_;
    };

    /// The characters that stand for threads. If there are more threads than characters, the characters are
    /// reused.
    static constexpr std::string_view letters =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ@#$&";

    /// Returns how many threads have run tasks of the view. If the system has reused the id of an ended
    /// thread, both threads count as one thread. Returns 0 in the child process of a fork(). Any thread may
    /// call this function.
    [[nodiscard]] std::size_t threads() const noexcept;

private:
    // The value of a column whose task has not begun. A value n means that thread n - 1 runs the task.
    static constexpr std::uint32_t none = 0;
    static constexpr std::uint32_t ended = ~std::uint32_t{0};

    live_view(std::size_t columns, std::function<std::string()> activity, options chosen);

    [[nodiscard]] bool is_in_forked_child() const noexcept;
    void run() noexcept;
    void show() noexcept;
    [[nodiscard]] live_line look() const;
    [[nodiscard]] std::uint32_t number_of_this_thread();

    const options chosen_;
    const std::function<std::string()> activity_; // calls activity() of the pool, or is empty
    const std::size_t columns_;
    const std::unique_ptr<sys::atomic<std::uint32_t>[]> shown_;
    mutable sys::slow_lock lock_;
    std::unordered_map<std::uint64_t, std::uint32_t> numbers_; // under lock_
    const sys::clock::time_point began_ = sys::clock::now();
    const std::uint16_t generation_; // sys::fork_generation() of the process that created the view
    sys::atomic<std::uint32_t> leaves_{0};
    std::unique_ptr<sys::thread> thread_;
};

} // namespace ekiden::inline EKIDEN_ABI

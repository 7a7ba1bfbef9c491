/// What runs now, as lines of text while the program runs: which thread is in which task, or what each thread
/// of a pool does.
///
/// Part: observe. Used by: programs. The picture is that of an article on std::async: a line each fifth of a
/// second, a column for each task, a character for each thread.
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

/// What a live_view shows of one moment.
struct live_line {
    double seconds = 0;       ///< since the view began
    std::string columns = {}; ///< a character each
    std::size_t running = 0;  ///< columns in which a task runs
};

/// "  0.40 |01..| 2", without a line end.
[[nodiscard]] std::string to_text(const live_line& line);

/// What a live_view is made with.
struct live_view_options {
    std::chrono::milliseconds interval{200}; ///< from line to line; at least 1 ms
    /// Gets each line, on a thread of the view's; the last one from its destructor. Must not throw. Empty:
    /// prints it to standard error.
    std::function<void(const live_line&)> show = {};
};

/// Shows a line at each interval, and one at its end, from a thread of its own. It costs the tasks nothing
/// but what they do with it. In the child of a fork() it shows nothing.
class live_view {
public:
    using options = live_view_options;

    /// So many columns, for as many tasks of any pool, or of none: see live_view::task. A column is blank
    /// before its task, shows the character of the task's thread while it runs, and '.' afterwards. Threads
    /// get the characters in the order in which they come. Throws std::invalid_argument, std::bad_alloc, and
    /// std::system_error if the system gives no thread.
    explicit live_view(std::size_t columns, options chosen = {});

    /// A column for each thread of a pool: what its activity() says. The pool may be paused, stopped or
    /// joined, but not destroyed, before the view. Throws the same.
    template <class Pool>
        requires requires(const Pool& one) {
            { one.activity() } -> std::same_as<std::string>;
        }
    explicit live_view(const Pool& pool, options chosen = {})
        : live_view(0, [&pool] { return pool.activity(); }, std::move(chosen)) {}

    /// After the tasks that it shows.
    ~live_view();
    live_view(const live_view&) = delete;
    live_view& operator=(const live_view&) = delete;

    /// The task of a column runs on the calling thread, until the end of this object.
    class [[nodiscard]] task {
    public:
        /// Throws std::out_of_range for a column that there is not, std::bad_alloc.
        task(live_view& view, std::size_t column);
        ~task() { shown_.store(ended, sys::relaxed); }
        task(const task&) = delete;
        task& operator=(const task&) = delete;

    private:
        sys::atomic<std::uint32_t>& shown_;
    };

    /// The characters of threads; after the last one come the first ones again.
    static constexpr std::string_view letters =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ@#$&";

    /// How many threads have run its tasks: any thread. One whose number the system has given away again
    /// counts once. In the child of a fork() 0.
    [[nodiscard]] std::size_t threads() const noexcept;

private:
    static constexpr std::uint32_t none =
        0; // of a column: its task has not begun; n: the thread n - 1 runs it
    static constexpr std::uint32_t ended = ~std::uint32_t{0};

    live_view(std::size_t columns, std::function<std::string()> activity, options chosen);

    [[nodiscard]] bool is_in_forked_child() const noexcept;
    void run() noexcept;
    void show() noexcept;
    [[nodiscard]] live_line look() const;
    [[nodiscard]] std::uint32_t number_of_this_thread();

    const options chosen_;
    const std::function<std::string()> activity_; // of a pool; empty: the columns are tasks
    const std::size_t columns_;
    const std::unique_ptr<sys::atomic<std::uint32_t>[]> shown_;
    mutable sys::slow_lock lock_;
    std::unordered_map<std::uint64_t, std::uint32_t> numbers_; // under lock_
    const sys::clock::time_point began_ = sys::clock::now();
    const std::uint16_t generation_; // of processes
    sys::atomic<std::uint32_t> leaves_{0};
    std::unique_ptr<sys::thread> thread_;
};

} // namespace ekiden::inline EKIDEN_ABI

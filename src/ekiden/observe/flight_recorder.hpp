/// Keeps a trace of the last seconds, and saves it to a file when something unusual happens.
///
/// Part: observe. Used by: programs, often in the handlers of a thread_pool.
#pragma once

#include <ekiden/observe/trace.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/sys/thread.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

/// The options of a flight_recorder.
struct flight_recorder_options {
    std::string folder = ".";    ///< The folder of the files, which must exist.
    std::string name = "flight"; ///< the names of the files are name-0-TRIGGER.json, name-1-TRIGGER.json, ...
    std::chrono::milliseconds length{10'000}; ///< A file contains the events of this time, at least 1 ms.
    std::chrono::milliseconds pause{10'000};  ///< For this time after a file, no other file is saved.
    unsigned most_files = 10;                 ///< The number of the newest files that are kept, at least 1.
    /// The number of a signal, such as SIGUSR1, on which the recorder saves a file. If the value is 0, the
    /// recorder handles no signal and has no thread. The constructor refuses a signal for which the program
    /// has a handler.
    int signal = 0;
    trace::options events = {}; ///< the memory for the events of each thread
};

/// A recorder of what the threads have done last. The constructor starts a trace, and the destructor stops
/// the trace. save() writes the newest events to a file, which https://ui.perfetto.dev opens. docs/tracing.md
/// lists what a trace costs. A process has one trace, so it should have one recorder. If the program starts
/// or stops the trace itself, later files contain the events of that trace.
///
/// In the child of a fork(), a recorder saves nothing.
///
/// Thread safety: any thread may call all members except the destructor.
class flight_recorder {
public:
    using options = flight_recorder_options;

    /// Throws std::invalid_argument, std::bad_alloc, and std::system_error if the system refuses to start the
    /// thread for the signal.
    explicit flight_recorder(options chosen = {});
    ~flight_recorder();
    flight_recorder(const flight_recorder&) = delete;
    flight_recorder& operator=(const flight_recorder&) = delete;

    /// Saves the events of the last `length` to a file, and returns the path of the file. The text `trigger`
    /// becomes part of the file's name: its first 100 characters, in which letters and digits are kept and
    /// `-` replaces all other characters. A file appears only when it is complete. If there are more than
    /// `most_files` files, the oldest file is deleted.
    ///
    /// Returns an empty string if the last file was saved less than `pause` ago, if the file cannot be
    /// written, or if there is no memory. A call takes about as long as write_chrome_trace(). The call must
    /// not be made in a signal handler: see flight_recorder_options::signal.
    [[nodiscard]] std::string save(std::string_view trigger) noexcept;

    /// Returns how many files have been saved.
    [[nodiscard]] std::uint64_t saved() const noexcept { return saved_.load(sys::relaxed); }

private:
    void run(std::uint32_t seen) noexcept;
    [[nodiscard]] bool is_in_forked_child() const noexcept;
    [[nodiscard]] std::string write(std::string_view trigger);

    const options options_;
    const std::uint16_t generation_; // sys::fork_generation() of the process that created the recorder
    sys::slow_lock lock_;
    std::vector<std::string> paths_;     // under lock_: file n has the place n modulo most_files
    sys::clock::time_point next_save_{}; // under lock_
    sys::atomic<std::uint64_t> saved_{0};
    sys::atomic<std::uint32_t> leaves_{0};
    const sys::atomic<std::uint32_t>* signals_ = nullptr; // counts the signals; null without a signal
    std::unique_ptr<sys::thread> thread_;
};

} // namespace ekiden::inline EKIDEN_ABI

#include <ekiden/observe/flight_recorder.hpp>

#include <ekiden/observe/chrome_trace.hpp>
#include <ekiden/sys/bad_argument.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/signal_count.hpp>
#include <ekiden/sys/start_thread.hpp>

#include <cstdio>
#include <fstream>
#include <mutex>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace {

void check(const flight_recorder_options& chosen) {
    const auto refuse = [](const char* option, const std::string& value, const char* allowed) {
        sys::refuse_argument("flight_recorder", option, value, allowed);
    };
    if (chosen.length < std::chrono::milliseconds(1))
        refuse("length", std::to_string(chosen.length.count()) + " ms", "1 ms or more");
    if (chosen.pause < std::chrono::milliseconds::zero())
        refuse("pause", std::to_string(chosen.pause.count()) + " ms", "0 ms or more");
    if (chosen.most_files == 0) refuse("most_files", "0", "1 or more");
}

constexpr std::size_t longest_trigger = 100; // The name of a file has at most 255 bytes.

/// Returns the begin of `text` with `-` in place of all characters that are no letters or digits of ASCII.
std::string in_file_name(std::string_view text) {
    std::string result(text.substr(0, longest_trigger));
    for (char& c : result) {
        const bool is_kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_kept) c = '-';
    }
    return result;
}

} // namespace

flight_recorder::flight_recorder(options chosen)
    : options_(std::move(chosen)), generation_(sys::fork_generation()) {
    check(options_);
    if (options_.signal != 0) {
        signals_ = sys::count_signals(options_.signal);
        if (signals_ == nullptr) {
            sys::refuse_argument("flight_recorder", "signal", options_.signal,
                                 "0 (none) and signals for which the program has no handler");
        }
    }
    trace::start(options_.events);
    if (signals_ == nullptr) return;
    try {
        const std::uint32_t seen = signals_->load(sys::relaxed);
        thread_ = std::make_unique<sys::thread>(
            sys::start_thread("flight_recorder", "its thread", [this, seen] { run(seen); }));
    } catch (...) {
        trace::stop();
        throw;
    }
}

flight_recorder::~flight_recorder() {
    if (is_in_forked_child()) {
        (void)thread_.release(); // the thread does not exist in the child
        return;
    }
    if (thread_ != nullptr) {
        leaves_.store(1, sys::relaxed);
        sys::wake_for_signal(options_.signal);
        thread_->join();
    }
    trace::stop();
}

/// The thread of the recorder, which waits for the signal. `seen` is the number of signals before.
void flight_recorder::run(std::uint32_t seen) noexcept {
    sys::set_thread_name("flight-recorder");
    for (;;) {
        const std::uint32_t now = signals_->load(sys::acquire); // sees leaves_
        if (leaves_.load(sys::relaxed) != 0) return;
        if (now == seen) {
            sys::futex_wait(*signals_, seen);
            continue;
        }
        seen = now;
        (void)save("signal");
    }
}

bool flight_recorder::is_in_forked_child() const noexcept { return generation_ != sys::fork_generation(); }

std::string flight_recorder::save(std::string_view trigger) noexcept {
    if (is_in_forked_child()) return {}; // a thread that does not exist here may hold the lock
    const std::lock_guard guard(lock_);
    const auto now = sys::clock::now();
    if (saved() != 0 && now < next_save_) return {};
    try {
        std::string path = write(trigger);
        if (path.empty()) return path;
        next_save_ = now + sys::bounded(options_.pause);
        saved_.store(saved() + 1, sys::relaxed);
        return path;
    } catch (...) { // no memory
        return {};
    }
}

/// Writes the next file under another name, and then renames the file. Returns an empty string if the file
/// cannot be written.
std::string flight_recorder::write(std::string_view trigger) {
    const std::string path = options_.folder + "/" + options_.name + "-" + std::to_string(saved()) + "-"
                             + in_file_name(trigger) + ".json";
    const std::string part = path + ".part";
    const std::size_t place = saved() % options_.most_files;
    if (place == paths_.size()) paths_.emplace_back();
    std::string kept = path;
    {
        std::ofstream file(part);
        write_chrome_trace(file, trace::take(sys::bounded(options_.length)));
        file.flush();
        if (!file) {
            (void)std::remove(part.c_str());
            return {};
        }
    }
    if (std::rename(part.c_str(), path.c_str()) != 0) {
        (void)std::remove(part.c_str());
        return {};
    }
    if (!paths_[place].empty()) (void)std::remove(paths_[place].c_str());
    paths_[place] = std::move(kept);
    return path;
}

} // namespace ekiden::inline EKIDEN_ABI

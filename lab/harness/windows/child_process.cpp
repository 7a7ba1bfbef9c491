#include <lab/harness/child_process.hpp>
#include <lab/harness/usage.hpp>
#include <lab/harness/windows/interrupt.hpp>
#include <lab/harness/windows/process.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace lab {
namespace {

using ending = child_outcome::ending;

/// A pipe whose read end a thread empties into a text until all write ends are closed.
class drained_pipe {
public:
    drained_pipe() {
        if (::CreatePipe(&read_, &write_, nullptr, 0) == 0
            || ::SetHandleInformation(write_, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT) == 0)
            throw std::system_error(static_cast<int>(::GetLastError()), std::system_category(), "pipe");
    }
    ~drained_pipe() {
        close_write_end();
        if (reader_.joinable()) reader_.join();
        ::CloseHandle(read_);
    }
    drained_pipe(const drained_pipe&) = delete;
    drained_pipe& operator=(const drained_pipe&) = delete;

    [[nodiscard]] HANDLE write_end() const { return write_; }
    void close_write_end() {
        if (write_ != nullptr) ::CloseHandle(write_);
        write_ = nullptr;
    }
    void start_reading() {
        reader_ = std::thread([this] {
            std::array<char, 65536> buffer;
            for (DWORD n = 0; ::ReadFile(read_, buffer.data(), buffer.size(), &n, nullptr) != 0 && n != 0;)
                text_.append(buffer.data(), n);
        });
    }
    /// Waits until all write ends are closed.
    [[nodiscard]] std::string take_text() {
        reader_.join();
        std::erase(text_, '\r'); // the C library of the child writes "\r\n"
        return std::move(text_);
    }

private:
    HANDLE read_ = nullptr;
    HANDLE write_ = nullptr;
    std::string text_;
    std::thread reader_;
};

/// Waits for the end of the process.
ending wait_for(HANDLE process, double limit_s) {
    std::array<HANDLE, 2> both{process, interrupt_event()};
    const DWORD count = both[1] == nullptr ? 1 : 2;
    const double ms = std::clamp(limit_s * 1e3, 0.0, 1e9);
    switch (::WaitForMultipleObjects(count, both.data(), FALSE, static_cast<DWORD>(ms))) {
    case WAIT_OBJECT_0:
        return ending::exited;
    case WAIT_OBJECT_0 + 1:
        return ending::interrupted;
    default:
        return ending::timed_out;
    }
}

} // namespace

child_outcome run_child(const std::string& program, const std::vector<std::string>& arguments, double limit_s,
                        const std::string& preload) {
    if (!preload.empty()) throw std::runtime_error("lab: Windows loads no library first");
    drained_pipe report;
    drained_pipe diagnostics;
    child_outcome outcome;
    // open_report() reads this variable in the child. A process of this system inherits handles, not
    // descriptors.
    const auto number = reinterpret_cast<std::uintptr_t>(report.write_end());
    set_report_handle(number);
    started_process child = start_process(
        program, arguments, {diagnostics.write_end(), diagnostics.write_end(), report.write_end()});
    report.close_write_end();
    diagnostics.close_write_end();
    if (child.process == nullptr) {
        outcome.code = static_cast<int>(child.error);
        return outcome;
    }
    report.start_reading();
    diagnostics.start_reading();
    outcome.how = wait_for(child.process, limit_s);
    DWORD status = 0;
    ::GetExitCodeProcess(child.process, &status);
    end_process(child); // also ends all processes that it has started
    outcome.reports = report.take_text();
    outcome.diagnostics = diagnostics.take_text();
    constexpr DWORD first_exception = 0xC0000000; // the codes of exceptions begin here
    constexpr DWORD aborted = 3;                  // the status of abort()
    if (outcome.how == ending::exited) {
        outcome.code = static_cast<int>(status);
        if (status >= first_exception || status == aborted) outcome.how = ending::signalled;
    }
    return outcome;
}

std::string name_of_crash(int code) {
    if (code == 3) return "Aborted";
    char text[32];
    std::snprintf(text, sizeof text, "exception 0x%08x", static_cast<unsigned>(code));
    return text;
}

std::string name_of_start_error(int code) { return std::system_category().message(code); }

} // namespace lab

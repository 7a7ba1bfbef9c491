#include <lab/harness/windows/process.hpp>

#include <algorithm>
#include <cstddef>

namespace lab {
namespace {

std::wstring wide(const std::string& text) {
    const int size = static_cast<int>(text.size());
    std::wstring made(text.size(), L'\0');
    made.resize(static_cast<std::size_t>(
        ::MultiByteToWideChar(CP_UTF8, 0, text.data(), size, made.data(), static_cast<int>(made.size()))));
    return made;
}

/// Appends the argument so that CommandLineToArgvW() and the C library read it unchanged.
void append_quoted(std::wstring& line, const std::string& argument) {
    if (!line.empty()) line += L' ';
    line += L'"';
    std::size_t backslashes = 0;
    for (const wchar_t c : wide(argument)) {
        // Backslashes have a meaning only before a quotation mark.
        if (c == L'"') line.append(backslashes + 1, L'\\');
        backslashes = c == L'\\' ? backslashes + 1 : 0;
        line += c;
    }
    line.append(backslashes, L'\\');
    line += L'"';
}

/// The list of the handles that a child inherits.
class handle_list {
public:
    explicit handle_list(std::vector<HANDLE>& handles) {
        if (handles.empty()) return;
        SIZE_T size = 0;
        ::InitializeProcThreadAttributeList(nullptr, 1, 0, &size);
        memory_.resize(size);
        if (::InitializeProcThreadAttributeList(get(), 1, 0, &size) == 0) return;
        is_ready_ = ::UpdateProcThreadAttribute(get(), 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, handles.data(),
                                                handles.size() * sizeof(HANDLE), nullptr, nullptr)
                    != 0;
    }
    ~handle_list() {
        if (!memory_.empty()) ::DeleteProcThreadAttributeList(get());
    }
    handle_list(const handle_list&) = delete;
    handle_list& operator=(const handle_list&) = delete;
    [[nodiscard]] LPPROC_THREAD_ATTRIBUTE_LIST get() {
        return memory_.empty() ? nullptr : reinterpret_cast<LPPROC_THREAD_ATTRIBUTE_LIST>(memory_.data());
    }
    [[nodiscard]] bool is_ready() const { return is_ready_; }

private:
    std::vector<std::byte> memory_;
    bool is_ready_ = false;
};

HANDLE make_job() {
    const HANDLE job = ::CreateJobObjectW(nullptr, nullptr);
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
    limits.BasicLimitInformation.LimitFlags =
        JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION;
    if (job != nullptr)
        ::SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits);
    return job;
}

} // namespace

started_process start_process(const std::string& program, const std::vector<std::string>& arguments,
                              std::vector<HANDLE> inherited) {
    std::wstring line;
    append_quoted(line, program);
    for (const std::string& argument : arguments) append_quoted(line, argument);
    STARTUPINFOEXW how{};
    how.StartupInfo.cb = sizeof how;
    if (inherited.size() >= 2) {
        how.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
        how.StartupInfo.hStdOutput = inherited[0];
        how.StartupInfo.hStdError = inherited[1];
    }
    std::sort(inherited.begin(), inherited.end());
    inherited.erase(std::unique(inherited.begin(), inherited.end()),
                    inherited.end()); // a list has no doubles
    handle_list list(inherited);
    if (list.is_ready()) how.lpAttributeList = list.get();
    started_process made;
    PROCESS_INFORMATION child{};
    const DWORD flags = CREATE_SUSPENDED | (list.is_ready() ? EXTENDED_STARTUPINFO_PRESENT : 0);
    if (::CreateProcessW(wide(program).c_str(), line.data(), nullptr, nullptr, !inherited.empty(), flags,
                         nullptr, nullptr, &how.StartupInfo, &child)
        == 0) {
        made.error = ::GetLastError();
        return made;
    }
    made.process = child.hProcess;
    made.job = make_job();
    if (made.job != nullptr) ::AssignProcessToJobObject(made.job, child.hProcess);
    ::ResumeThread(child.hThread);
    ::CloseHandle(child.hThread);
    return made;
}

void end_process(started_process& which) {
    if (which.job != nullptr) ::TerminateJobObject(which.job, 1);
    if (which.process != nullptr) {
        ::TerminateProcess(which.process, 1); // has no effect after its end
        ::WaitForSingleObject(which.process, INFINITE);
        ::CloseHandle(which.process);
    }
    if (which.job != nullptr) ::CloseHandle(which.job);
    which = {};
}

} // namespace lab

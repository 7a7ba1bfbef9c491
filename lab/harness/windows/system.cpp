#include <lab/harness/system.hpp>
#include <lab/harness/windows/process.hpp>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <io.h>
#include <stdexcept>

namespace lab {
namespace {

constexpr const char* report_variable = "LAB_REPORT_HANDLE";

double seconds(const FILETIME& time) { // the unit is 100 ns
    return static_cast<double>(std::uint64_t{time.dwHighDateTime} << 32U | time.dwLowDateTime) * 1e-7;
}

std::string processor() {
    std::array<char, 256> name{};
    DWORD size = name.size() - 1;
    const LSTATUS status =
        ::RegGetValueA(HKEY_LOCAL_MACHINE, "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0",
                       "ProcessorNameString", RRF_RT_REG_SZ, nullptr, name.data(), &size);
    return status == ERROR_SUCCESS ? name.data() : "";
}

/// Returns the function of ntdll.dll, or null.
template <class F>
F* in_ntdll(const char* name) {
    const HMODULE ntdll = ::GetModuleHandleW(L"ntdll.dll");
    return ntdll == nullptr ? nullptr
                            : reinterpret_cast<F*>(reinterpret_cast<void*>(::GetProcAddress(ntdll, name)));
}

std::string system_name() {
    std::string name = "Windows";
    RTL_OSVERSIONINFOW version{};
    version.dwOSVersionInfoSize = sizeof version;
    // GetVersionEx() gives the version that the program's manifest names.
    if (auto* const get = in_ntdll<LONG WINAPI(RTL_OSVERSIONINFOW*)>("RtlGetVersion");
        get != nullptr && get(&version) == 0)
        name += ' ' + std::to_string(version.dwMajorVersion) + '.' + std::to_string(version.dwMinorVersion)
                + '.' + std::to_string(version.dwBuildNumber);
    name += " x86_64";
    if (auto* const wine = in_ntdll<const char * CDECL()>("wine_get_version"); wine != nullptr)
        name += std::string(" (Wine ") + wine() + ")";
    return name;
}

} // namespace

std::filesystem::path own_program() {
    std::array<wchar_t, 1024> name{};
    const DWORD size = ::GetModuleFileNameW(nullptr, name.data(), name.size());
    if (size == 0 || size == name.size()) throw std::runtime_error("lab: the program has no name");
    return name.data();
}

void set_environment(const char* name, const char* value) { ::_putenv_s(name, value); }

process_usage process_usage_now() {
    FILETIME created{};
    FILETIME ended{};
    FILETIME in_kernel{};
    FILETIME in_program{};
    if (::GetProcessTimes(::GetCurrentProcess(), &created, &ended, &in_kernel, &in_program) == 0) return {};
    return {.user_s = seconds(in_program), .system_s = seconds(in_kernel)};
}

double thread_cpu_s() {
    FILETIME created{};
    FILETIME ended{};
    FILETIME in_kernel{};
    FILETIME in_program{};
    if (::GetThreadTimes(::GetCurrentThread(), &created, &ended, &in_kernel, &in_program) == 0) return 0;
    return seconds(in_kernel) + seconds(in_program);
}

void sleep_precisely() {} // the system has no such setting for a thread

system_facts describe_system() {
    system_facts facts;
    std::array<char, MAX_COMPUTERNAME_LENGTH + 1> host{};
    DWORD size = host.size();
    if (::GetComputerNameA(host.data(), &size) != 0) facts.host = host.data();
    facts.system = system_name();
    facts.processor = processor();
    MEMORYSTATUSEX memory{};
    memory.dwLength = sizeof memory;
    if (::GlobalMemoryStatusEx(&memory) != 0)
        facts.memory_gib = static_cast<double>(memory.ullTotalPhys) / (1U << 30);
    ULONG last_node = 0;
    if (::GetNumaHighestNodeNumber(&last_node) != 0) facts.numa_nodes = static_cast<int>(last_node) + 1;
    return facts;
}

void set_report_handle(std::uintptr_t handle) { // for the next child
    set_environment(report_variable, std::to_string(handle).c_str());
}

int open_report(int) {
    const char* const text = std::getenv(report_variable);
    if (text == nullptr) throw std::runtime_error("lab: the cell has no handle for its report");
    const auto handle = static_cast<std::intptr_t>(std::strtoull(text, nullptr, 10));
    // A process that the cell starts must not keep the pipe open.
    ::SetHandleInformation(reinterpret_cast<HANDLE>(handle), HANDLE_FLAG_INHERIT, 0);
    return ::_open_osfhandle(handle, _O_BINARY | _O_WRONLY);
}

} // namespace lab

#include <lab/harness/system.hpp>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace lab {
namespace {

double seconds(const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::string processor() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name"))
            if (const auto colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
    return {};
}

int numa_nodes() {
    int count = 0;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/sys/devices/system/node", none)) {
        const std::string name = entry.path().filename();
        count += name.size() > 4 && name.starts_with("node") && name[4] >= '0' && name[4] <= '9';
    }
    return std::max(count, 1);
}

// Version 2 has "max 100000" or "150000 100000" in one file. Version 1 has the two numbers in two files.
double quota_cores() {
    double quota = -1;
    double period = -1;
    std::istringstream(first_line("/sys/fs/cgroup/cpu.max")) >> quota >> period;
    if (period <= 0) {
        std::istringstream(first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")) >> quota;
        std::istringstream(first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us")) >> period;
    }
    return quota > 0 && period > 0 ? quota / period : 0;
}

} // namespace

std::filesystem::path own_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

void set_environment(const char* name, const char* value) { setenv(name, value, 1); }

process_usage process_usage_now() {
    rusage r{};
    getrusage(RUSAGE_SELF, &r);
    return {.user_s = seconds(r.ru_utime),
            .system_s = seconds(r.ru_stime),
            .voluntary_switches = static_cast<double>(r.ru_nvcsw),
            .involuntary_switches = static_cast<double>(r.ru_nivcsw)};
}

double thread_cpu_s() {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

void sleep_precisely() { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

system_facts describe_system() {
    system_facts facts;
    char name[256] = {};
    if (gethostname(name, sizeof name - 1) == 0) facts.host = name;
    utsname kernel{};
    uname(&kernel);
    facts.system = std::string(kernel.sysname) + " " + kernel.release + " " + kernel.machine;
    facts.processor = processor();
    facts.governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    facts.memory_gib = static_cast<double>(sysconf(_SC_PHYS_PAGES))
                       * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1U << 30);
    facts.numa_nodes = numa_nodes();
    facts.quota_cores = quota_cores();
    return facts;
}

int open_report(int passed) {
    // The driver reads until all copies are closed, but a broker that the cell starts runs longer.
    ::fcntl(passed, F_SETFD, FD_CLOEXEC);
    return passed;
}

} // namespace lab

// From /proc/self/statm (resident pages) and /proc/self/status (their maximum).
#include <lab/harness/memory.hpp>

#include <cstdio>
#include <unistd.h>

namespace lab {

double resident_bytes() {
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    if (!file) return 0;
    unsigned long all = 0;
    unsigned long resident = 0;
    const int read = std::fscanf(file, "%lu %lu", &all, &resident);
    std::fclose(file);
    return read == 2 ? static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) : 0;
}

void forget_peak_resident_bytes() {
    if (std::FILE* const file = std::fopen("/proc/self/clear_refs", "w")) {
        std::fputs("5", file);
        std::fclose(file);
    }
}

double peak_resident_bytes() {
    std::FILE* const file = std::fopen("/proc/self/status", "r");
    if (!file) return 0;
    unsigned long kib = 0;
    for (char line[256]; std::fgets(line, sizeof line, file);)
        if (std::sscanf(line, "VmHWM: %lu kB", &kib) == 1) break;
    std::fclose(file);
    return static_cast<double>(kib) * 1024;
}

} // namespace lab

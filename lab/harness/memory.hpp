/// How much memory the process holds.
///
/// Used by: lanes. Source: /proc/self/statm, pages in memory.
#pragma once

#include <cstdio>
#include <unistd.h>

namespace lab {

/// Bytes; 0 if the system does not tell.
inline double resident_bytes() {
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    if (!file) return 0;
    unsigned long all = 0;
    unsigned long resident = 0;
    const int read = std::fscanf(file, "%lu %lu", &all, &resident);
    std::fclose(file);
    return read == 2 ? static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) : 0;
}

} // namespace lab

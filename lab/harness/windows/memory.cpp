#include <lab/harness/memory.hpp>

#include <windows.h>

#include <psapi.h> // needs windows.h before it

namespace lab {
namespace {

PROCESS_MEMORY_COUNTERS counters() {
    PROCESS_MEMORY_COUNTERS all{};
    (void)::GetProcessMemoryInfo(::GetCurrentProcess(), &all, sizeof all);
    return all;
}

} // namespace

double resident_bytes() { return static_cast<double>(counters().WorkingSetSize); }
double peak_resident_bytes() { return static_cast<double>(counters().PeakWorkingSetSize); }
void forget_peak_resident_bytes() {} // the system has no such call

} // namespace lab

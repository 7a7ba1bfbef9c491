#include <tests/unit/affinity.hpp>

#include <bit>
#include <windows.h>

#include <tlhelp32.h> // needs windows.h before it

namespace ekiden_test {

int processors_of_this_thread() {
    GROUP_AFFINITY own{};
    return ::GetThreadGroupAffinity(::GetCurrentThread(), &own) != 0 ? std::popcount(own.Mask) : 0;
}

one_processor::one_processor() {
    DWORD_PTR own = 0;
    DWORD_PTR all = 0;
    (void)::GetProcessAffinityMask(::GetCurrentProcess(), &own, &all);
    before_ = own;
    (void)::SetProcessAffinityMask(::GetCurrentProcess(), own & (~own + 1)); // the lowest bit
}

one_processor::~one_processor() { (void)::SetProcessAffinityMask(::GetCurrentProcess(), before_); }

/// Returns the number of threads of this process.
int threads_of_this_process() {
    const HANDLE shot = ::CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
    if (shot == INVALID_HANDLE_VALUE) return 0;
    THREADENTRY32 entry{};
    entry.dwSize = sizeof entry;
    int count = 0;
    for (BOOL more = ::Thread32First(shot, &entry); more != 0; more = ::Thread32Next(shot, &entry))
        count += entry.th32OwnerProcessID == ::GetCurrentProcessId();
    ::CloseHandle(shot);
    return count;
}

} // namespace ekiden_test

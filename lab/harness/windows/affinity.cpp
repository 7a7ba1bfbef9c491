// The processors of the group of this process, at most 64.
#include <lab/harness/affinity.hpp>

#include <algorithm>
#include <windows.h>

#include <tlhelp32.h> // needs windows.h before it

namespace lab {
namespace {

DWORD_PTR mask_of(const std::vector<int>& cpus) {
    DWORD_PTR mask = 0;
    for (const int cpu : cpus) mask |= DWORD_PTR{1} << static_cast<unsigned>(cpu);
    return mask;
}

// Ignores failure, because the thread may have ended after it was listed.
void bind(DWORD thread_id, int cpu) {
    const HANDLE thread = ::OpenThread(THREAD_SET_INFORMATION | THREAD_QUERY_INFORMATION, FALSE, thread_id);
    if (thread == nullptr) return;
    ::SetThreadAffinityMask(thread, mask_of({cpu}));
    ::CloseHandle(thread);
}

} // namespace

std::vector<int> usable_cpus() {
    GROUP_AFFINITY own{};
    std::vector<int> cpus;
    if (::GetThreadGroupAffinity(::GetCurrentThread(), &own) != 0)
        for (int cpu = 0; cpu != 64; ++cpu)
            if ((own.Mask >> static_cast<unsigned>(cpu) & 1U) != 0) cpus.push_back(cpu);
    if (cpus.empty()) cpus.push_back(0);
    return cpus;
}

void bind_this_thread(const std::vector<int>& cpus, unsigned index) {
    ::SetThreadAffinityMask(::GetCurrentThread(), mask_of({cpus[index % cpus.size()]}));
}

void bind_this_thread_to_all(const std::vector<int>& cpus) {
    ::SetThreadAffinityMask(::GetCurrentThread(), mask_of(cpus));
}

void bind_all_threads(const std::vector<int>& cpus) {
    const DWORD self = ::GetCurrentThreadId();
    std::vector<DWORD> others;
    const HANDLE shot = ::CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
    THREADENTRY32 entry{};
    entry.dwSize = sizeof entry;
    if (shot != INVALID_HANDLE_VALUE) {
        for (BOOL more = ::Thread32First(shot, &entry); more != 0; more = ::Thread32Next(shot, &entry))
            if (entry.th32OwnerProcessID == ::GetCurrentProcessId() && entry.th32ThreadID != self)
                others.push_back(entry.th32ThreadID);
        ::CloseHandle(shot);
    }
    std::sort(others.begin(), others.end());
    bind(self, cpus.front());
    for (std::size_t i = 0; i < others.size(); ++i) bind(others[i], cpus[(i + 1) % cpus.size()]);
}

} // namespace lab

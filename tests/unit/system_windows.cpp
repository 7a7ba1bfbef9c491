#include <tests/unit/affinity.hpp>
#include <tests/unit/guarded_page.hpp>

#include <bit>
#include <cstdlib>
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

guarded_page::guarded_page() {
    SYSTEM_INFO system{};
    ::GetSystemInfo(&system);
    size_ = system.dwPageSize;
    void* const made = ::VirtualAlloc(nullptr, 2 * size_, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    DWORD before = 0;
    memory_ = static_cast<std::byte*>(made);
    if (made == nullptr || ::VirtualProtect(end(), size_, PAGE_NOACCESS, &before) == 0) std::abort();
}

void guarded_page::release() noexcept {
    if (!is_released_) ::VirtualFree(memory_, 0, MEM_RELEASE);
    is_released_ = true;
}

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

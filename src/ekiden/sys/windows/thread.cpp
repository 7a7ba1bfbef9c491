#include <ekiden/sys/thread.hpp>
#include <ekiden/sys/windows/processor_groups.hpp>
#include <ekiden/sys/windows/system_function.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <windows.h>

namespace ekiden::inline EKIDEN_ABI::sys {

void set_thread_name(std::string_view name) noexcept {
    using function = HRESULT WINAPI(HANDLE, const wchar_t*);
    static function* const set =
        system_function<function>(L"kernel32.dll", "SetThreadDescription"); // Windows 10, 1607
    if (set == nullptr) return;
    std::array<wchar_t, 128> wide{};
    const int size = static_cast<int>(std::min(name.size(), wide.size() - 1));
    (void)::MultiByteToWideChar(CP_UTF8, 0, name.data(), size, wide.data(),
                                static_cast<int>(wide.size()) - 1);
    (void)set(::GetCurrentThread(), wide.data());
}

std::string this_thread_name() {
    using function = HRESULT WINAPI(HANDLE, wchar_t**);
    static function* const get = system_function<function>(L"kernel32.dll", "GetThreadDescription");
    wchar_t* wide = nullptr;
    if (get == nullptr || FAILED(get(::GetCurrentThread(), &wide))) return {};
    std::array<char, 512> name{};
    (void)::WideCharToMultiByte(CP_UTF8, 0, wide, -1, name.data(), static_cast<int>(name.size()) - 1, nullptr,
                                nullptr);
    ::LocalFree(wide);
    return name.data();
}

std::uint64_t system_thread_id() noexcept { return ::GetCurrentThreadId(); }

bool set_thread_affinity(std::span<const int> cpus) noexcept {
    // A thread has one group. So the system refuses processors of several groups here.
    if (cpus.empty() || cpus.front() < 0) return false;
    GROUP_AFFINITY wanted{};
    wanted.Group = static_cast<WORD>(cpus.front() / group_size);
    for (const int cpu : cpus) {
        if (cpu < 0 || cpu / group_size != wanted.Group) return false;
        wanted.Mask |= KAFFINITY{1} << static_cast<unsigned>(cpu % group_size);
    }
    return ::SetThreadGroupAffinity(::GetCurrentThread(), &wanted, nullptr) != 0;
}

} // namespace ekiden::inline EKIDEN_ABI::sys

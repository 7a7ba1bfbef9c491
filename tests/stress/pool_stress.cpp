// Long runs with many tasks and many pools, with exact accounts. The test command runs a small version, and
// `soak` the full one.
#include <ekiden/pool/thread_pool.hpp>

#include <tests/unit/effort.hpp>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>
#if defined(_WIN32)
#include <windows.h>

#include <psapi.h>
#include <tlhelp32.h>
#else
#include <dirent.h>
#include <unistd.h>
#endif
#if defined(__APPLE__)
#include <tests/unit/thread_count_macos.hpp>
#endif

namespace {

#if defined(_WIN32)
/// Returns the memory that this process alone uses, in KiB.
long resident_kib() {
    PROCESS_MEMORY_COUNTERS_EX counters{};
    counters.cb = sizeof counters;
    const BOOL is_known = ::K32GetProcessMemoryInfo(
        ::GetCurrentProcess(), reinterpret_cast<PROCESS_MEMORY_COUNTERS*>(&counters), sizeof counters);
    return is_known != 0 ? static_cast<long>(counters.PrivateUsage / 1024) : 0;
}

long thread_count() {
    const HANDLE shot = ::CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
    THREADENTRY32 entry{};
    entry.dwSize = sizeof entry;
    long count = 0;
    for (BOOL more = ::Thread32First(shot, &entry); more != 0; more = ::Thread32Next(shot, &entry))
        count += entry.th32OwnerProcessID == ::GetCurrentProcessId();
    ::CloseHandle(shot);
    return count;
}

/// Returns the number of handles.
long descriptor_count() {
    DWORD count = 0;
    return ::GetProcessHandleCount(::GetCurrentProcess(), &count) != 0 ? static_cast<long>(count) : 0;
}
#else
/// Returns the resident memory of this process in KiB.
long resident_kib() {
#if defined(__APPLE__)
    mach_task_basic_info info{};
    mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
    (void)::task_info(::mach_task_self(), MACH_TASK_BASIC_INFO, reinterpret_cast<task_info_t>(&info), &count);
    return static_cast<long>(info.resident_size / 1024);
#else
    long pages = 0;
    if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
        std::fclose(file);
    }
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
#endif
}

long entries(const char* directory) {
    long count = 0;
    if (DIR* dir = opendir(directory)) {
        while (readdir(dir) != nullptr) ++count;
        closedir(dir);
    }
    return count;
}

#if defined(__APPLE__)
long thread_count() { return ekiden_test::count_threads_of_process(); }
long descriptor_count() { return entries("/dev/fd"); }
#else
long thread_count() { return entries("/proc/self/task"); }
long descriptor_count() { return entries("/proc/self/fd"); }
#endif
#endif

/// Returns the number of threads of this process, when it is at most `expected` or a minute has passed. A
/// joined thread may still be ending in the kernel.
long threads_left(long expected) {
    for (int i = 0; i != 60'000 && thread_count() > expected; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return thread_count();
}

/// Each task sets its own bit. It is an error if a bit is set twice or not at all.
bool run_tasks(std::uint64_t total) {
    constexpr std::uint64_t producers = 8;
    const std::uint64_t each = total / producers;
    std::vector<std::atomic<std::uint64_t>> seen(producers * ((each + 63) / 64));
    std::atomic<std::uint64_t> twice{0};
    {
        ekiden::thread_pool pool({.threads = 2});
        std::vector<std::jthread> threads;
        for (std::uint64_t p = 0; p != producers; ++p) {
            threads.emplace_back([&, p] {
                std::atomic<std::uint64_t>* const mine = &seen[p * ((each + 63) / 64)];
                for (std::uint64_t i = 0; i != each; ++i) {
                    pool.post([mine, i, &twice] {
                        const std::uint64_t bit = std::uint64_t{1} << (i % 64);
                        if ((mine[i / 64].fetch_or(bit, std::memory_order_relaxed) & bit) != 0) ++twice;
                    });
                    // Limits the memory of queued tasks.
                    if (i % 65'536 == 0) {
                        while (pool.metrics().tasks_pending > 4'000'000) std::this_thread::yield();
                    }
                }
            });
        }
    }
    std::uint64_t ran = 0;
    for (const auto& word : seen) ran += static_cast<std::uint64_t>(__builtin_popcountll(word.load()));
    std::printf("%llu tasks from %llu producers over 2 workers: %llu lost, %llu run twice\n",
                static_cast<unsigned long long>(each * producers), static_cast<unsigned long long>(producers),
                static_cast<unsigned long long>(each * producers - ran),
                static_cast<unsigned long long>(twice.load()));
    return ran == each * producers && twice == 0;
}

/// Pools that are created, used and destroyed one after the other must not leak memory, threads or
/// descriptors.
bool run_pools(std::uint64_t cycles) {
    const auto cycle = [] {
        std::atomic<int> ran{0};
        ekiden::thread_pool pool({.threads = 2});
        for (int i = 0; i != 10; ++i) pool.post([&] { ++ran; });
        const int result = pool.submit([] { return 1; }).get();
        pool.wait_idle();
        return ran + result == 11;
    };
    bool right = true;
    for (int i = 0; i != 200; ++i) right = cycle() && right; // fills the caches
    const long memory = resident_kib();
    const long threads = thread_count();
    const long descriptors = descriptor_count();
    for (std::uint64_t i = 0; i != cycles; ++i) right = cycle() && right;
    const long more_memory = resident_kib() - memory;
    const long more_threads = threads_left(threads) - threads;
    const long more_descriptors = descriptor_count() - descriptors;
    std::printf("%llu pools: %s; %+ld KiB, %+ld threads, %+ld descriptors\n",
                static_cast<unsigned long long>(cycles), right ? "every task ran" : "TASKS LOST", more_memory,
                more_threads, more_descriptors);
    // The allocator may keep a little memory. With 100,000 pools or more, a leak of 20 bytes per pool would
    // be detected. A sanitizer's allocator keeps freed memory, but it detects leaks itself. An emulator may
    // keep memory for each ended thread.
    const bool memory_counts = !ekiden_test::is_sanitized && !ekiden_test::is_emulated;
    return right && more_threads <= 0 && more_descriptors == 0 && (!memory_counts || more_memory < 2048);
}

bool parse(const char* text, std::uint64_t& number) {
    const char* const end = text + std::strlen(text);
    return std::from_chars(text, end, number).ptr == end && number > 0;
}

} // namespace

int main(int argc, char** argv) {
    std::uint64_t number = 0;
    if (argc == 3 && parse(argv[2], number)) {
        if (std::string_view(argv[1]) == "tasks") return run_tasks(number) ? 0 : 1;
        if (std::string_view(argv[1]) == "pools") return run_pools(number) ? 0 : 1;
    }
    std::fprintf(stderr, "usage: pool_stress tasks NUMBER | pools NUMBER   (NUMBER > 0)\n");
    return 2;
}

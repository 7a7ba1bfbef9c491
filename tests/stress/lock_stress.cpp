// A long run of fifo_mutex. Each acquisition is compared with its place in the queue. The test command runs a
// small version, and `soak` the full one.
#include <ekiden/sync/fifo_mutex.hpp>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

namespace {

/// A call gets its number when it joins the queue. The number must be the expected one when the call acquires
/// the mutex. Owners let other threads queue up until an unlock finds some. From then on, the mutex is handed
/// over, and a thread that leaves it comes back.
bool run_fifo(std::uint64_t total) {
    constexpr std::uint64_t threads = 8;
    const std::uint64_t each = (total + threads - 1) / threads;
    ekiden::fifo_mutex mutex;
    std::uint64_t acquired = 0; // protected by the mutex, like the next two
    std::uint32_t due = 0;
    std::uint64_t inversions = 0;
    {
        std::vector<std::jthread> started;
        for (std::uint64_t t = 0; t != threads; ++t) {
            started.emplace_back([&] {
                for (std::uint64_t i = 0; i != each; ++i) {
                    inversions += mutex.lock_numbered() != due;
                    due = (due + 1) % ekiden::fifo_mutex::numbers;
                    ++acquired;
                    if (mutex.longest_queue() == 0)
                        std::this_thread::sleep_for(std::chrono::milliseconds(20));
                    mutex.unlock();
                }
            });
        }
    }
    mutex.lock();
    const std::size_t queued = mutex.longest_queue();
    mutex.unlock();
    std::printf("%llu acquisitions by %llu threads: %llu inversions; longest queue %zu\n",
                static_cast<unsigned long long>(acquired), static_cast<unsigned long long>(threads),
                static_cast<unsigned long long>(inversions), queued);
    return acquired == each * threads && inversions == 0 && queued > 0;
}

bool parse(const char* text, std::uint64_t& number) {
    const char* const end = text + std::strlen(text);
    return std::from_chars(text, end, number).ptr == end && number > 0;
}

} // namespace

int main(int argc, char** argv) {
    std::uint64_t number = 0;
    if (argc == 3 && parse(argv[2], number) && std::string_view(argv[1]) == "fifo")
        return run_fifo(number) ? 0 : 1;
    std::fprintf(stderr, "usage: lock_stress fifo NUMBER   (NUMBER > 0)\n");
    return 2;
}

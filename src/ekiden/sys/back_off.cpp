#include <ekiden/sys/back_off.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/thread.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace ekiden::inline EKIDEN_ABI::sys {

#if defined(EKIDEN_CHECKING)

// In a model, yields and pauses take no time. A yield tells the model checker that the thread waits.
bool yield_briefly() noexcept {
    yield();
    return true;
}

unsigned growing_pause(unsigned length, unsigned) noexcept { return length; }

void back_off::wait() noexcept { yield(); }

#else

namespace {

/// A yield that takes longer than 0.4 ms counts as slow, because another process has used a time slice.
/// Yields among hundreds of threads of this process take less time.
constexpr std::uint64_t slow_ns = 400'000;

/// The duration of a sleep and a wake-up, which a brief yield replaces.
constexpr std::uint64_t saved_ns = 10'000;

/// The upper limit of the time that counts as saved for a thread. Because of this limit, the thread soon
/// notices when the processors become busy.
constexpr std::uint64_t most_saved_ns = 10'000'000;

/// If a slow yield costs more than its thread has saved, no thread of the process yields for `rest` times the
/// duration of that yield. The pause applies to the whole process. Otherwise, threads that wait for each
/// other would lose one time slice each.
constexpr std::uint64_t rest = 32;

/// The time until which no thread of the process yields. Relaxed is enough, because a thread that reads an
/// old value only yields once more.
constinit std::atomic<std::uint64_t> resting_until_ns{0};

/// The time that the brief yields of a thread have saved, minus the cost of its slow yields.
struct savings {
    std::uint64_t ns;
};

} // namespace

bool yield_briefly() noexcept {
    const std::uint64_t begin = now_ns();
    if (begin < resting_until_ns.load(std::memory_order_relaxed)) return false;
    yield();
    const std::uint64_t end = now_ns();
    const std::uint64_t took = end - begin;
    std::uint64_t& saved = local<savings>().ns;
    if (took < slow_ns) {
        saved = std::min(saved + saved_ns, most_saved_ns);
        return true;
    }
    if (took > saved) resting_until_ns.store(end + rest * took, std::memory_order_relaxed);
    saved -= std::min(saved, took);
    return false;
}

unsigned growing_pause(unsigned length, unsigned longest) noexcept {
    for (unsigned i = 0; i != length; ++i) spin_hint();
    return std::min(4 * length, longest);
}

void back_off::wait() noexcept {
    // Spins somewhat longer than the steps of the other thread take. If the other thread has not completed
    // its steps by then, it is probably not running, perhaps because this thread occupies its processor.
    constexpr unsigned most = 64;
    if (pauses_ <= most) {
        for (unsigned i = 0; i != pauses_; ++i) spin_hint();
        pauses_ *= 2;
    } else if (!yield_briefly()) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
}

#endif

} // namespace ekiden::inline EKIDEN_ABI::sys

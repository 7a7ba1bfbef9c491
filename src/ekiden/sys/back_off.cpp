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

// Yields have no length in a model, and tell the checker that the thread waits.
bool yield_briefly() noexcept {
    yield();
    return true;
}

void back_off::wait() noexcept { yield(); }

#else

namespace {

/// A yield that takes longer was slow: another process had its time slice. The turns of some hundred threads
/// of this process that yield, too, take less.
constexpr std::uint64_t slow_ns = 400'000;

/// What a brief yield saves: a sleep and a wake-up.
constexpr std::uint64_t saved_ns = 10'000;

/// A thread saves no more than this, so that it soon notices when the processors become busy.
constexpr std::uint64_t most_saved_ns = 10'000'000;

/// After a slow yield that cost more than its thread had saved, no thread yields for so many times as long as
/// it took. The rest is the process's and not a thread's: threads that wait for each other would otherwise
/// lose their time slices one after the other.
constexpr std::uint64_t rest = 32;

/// When the rest ends. Relaxed: a thread that reads an old value yields once more.
constinit std::atomic<std::uint64_t> resting_until_ns{0};

/// What the brief yields of a thread have saved, less what its slow ones have cost.
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

void back_off::wait() noexcept {
    // Somewhat longer than the steps last. If they have not been taken by then, their thread is most likely
    // not running, perhaps because this thread has its processor.
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

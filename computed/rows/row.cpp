#include <computed/rows/row.hpp>

#if defined(EKIDEN_TIMED)
#include <computed/engine/runtime.hpp>
#endif

#include <ctime>
#include <thread>

namespace ekiden::rows {

std::vector<row>& all() {
    static std::vector<row> rows;
    return rows;
}

bool add(row made) {
    all().push_back(std::move(made));
    return true;
}

void work(std::uint64_t ns) noexcept {
#if defined(EKIDEN_TIMED)
    computed::spend(ns);
#else
    for (const std::uint64_t end = sys::now_ns() + ns; sys::now_ns() < end;) {
    }
#endif
}

void sleep_ns(std::uint64_t ns) noexcept { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); }

std::uint64_t process_cpu_ns() noexcept {
#if defined(EKIDEN_TIMED)
    return computed::processor_time_ns();
#else
    timespec used{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000U
           + static_cast<std::uint64_t>(used.tv_nsec);
#endif
}

void bind(unsigned core) {
    const int cpu[] = {static_cast<int>(core)};
    (void)sys::set_thread_affinity(cpu);
}

namespace {
struct slot_number {
    unsigned value; // plus 1
};
unsigned my_slot() noexcept {
    static constinit sys::atomic<unsigned> next{0};
    auto& mine = sys::local<slot_number>();
    if (mine.value == 0) mine.value = next.fetch_add(1, sys::relaxed) + 1;
    return mine.value - 1;
}
} // namespace

void tally::hit() noexcept {
    auto& count = slots_[my_slot() % slots].count;
    count.store(count.load(sys::relaxed) + 1, sys::release);
}

void tally::wait(std::uint64_t tasks) noexcept {
    for (;;) {
        std::uint64_t sum = 0;
        for (const slot& one : slots_) sum += one.count.load(sys::acquire);
        if (sum >= tasks) return;
        sleep_ns(50'000);
    }
}

} // namespace ekiden::rows

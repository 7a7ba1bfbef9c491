// The functions of the platform that the timed build of the library calls: those that check/engine/access.hpp
// declares for threads and time, and the functions of src/ekiden/sys whose sources the timed build leaves
// out.
#include <computed/engine/runtime.hpp>

#include <computed/engine/engine.hpp>

#include <check/engine/access.hpp>
#include <ekiden/sys/asymmetric_fence.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/thread.hpp>
#include <ekiden/sys/thread_probe.hpp>
#include <ekiden/sys/topology.hpp>

#include <cxxabi.h>
#include <time.h>

#include <cstdlib>
#include <numeric>

namespace ekiden::check {

using computed::inside;
using computed::running;

unsigned start_thread(void (*run)(void*), void* argument, const site&) {
    const inside in;
    return in.it.start_thread(run, argument);
}
void join_thread(unsigned number, const site&) {
    const inside in;
    in.it.join(number);
}
unsigned current_thread() noexcept { return running != nullptr ? running->current() : 0; }

void spin(bool may_be_bounded, const site&) noexcept {
    if (running == nullptr) return;
    const inside in;
    may_be_bounded ? in.it.pause() : in.it.yield();
}

std::uint64_t time_ns() noexcept {
    if (running == nullptr) return 1'000'000'000;
    const inside in;
    return in.it.now_ns();
}

void* thread_local_object(const void* key, std::size_t size, std::size_t alignment,
                          void (*make)(void*)) noexcept {
    if (running == nullptr) { // static initialization, and the program around the runs
        struct outside {
            const void* key;
            void* at;
            outside* next;
        };
        static outside* first = nullptr;
        for (const outside* one = first; one != nullptr; one = one->next)
            if (one->key == key) return one->at;
        void* const at = std::aligned_alloc(64, (size + 63) / 64 * 64);
        if (at == nullptr) std::abort();
        make(at);
        first = new outside{key, at, first};
        return at;
    }
    const inside in;
    return in.it.local(key, size, alignment, make);
}

} // namespace ekiden::check

namespace ekiden::computed {

void spend(std::uint64_t ns) noexcept {
    if (running == nullptr) return;
    const inside in;
    in.it.work(ns * 1000);
}
std::uint64_t processor_time_ns() noexcept { return running != nullptr ? running->busy() / 1000 : 0; }

namespace {
bool is_equal(const void* word, std::uint32_t expected) {
    return __atomic_load_n(static_cast<const std::uint32_t*>(word), __ATOMIC_SEQ_CST) == expected;
}
constexpr char asleep = 0; // the word of threads that only wait for a time
} // namespace

} // namespace ekiden::computed

namespace ekiden::inline EKIDEN_ABI::sys {

using computed::engine;
using computed::inside;
using computed::running;

const bool has_asymmetric_fence = true;
void fence_heavy() noexcept {
    if (running == nullptr) return;
    const inside in(__builtin_return_address(0));
    in.it.heavy_fence();
}

void futex_wait(const atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
    const inside in;
    (void)in.it.wait(&word, &computed::is_equal, expected, engine::never);
}
bool futex_wait_until(const atomic<std::uint32_t>& word, std::uint32_t expected,
                      clock::time_point deadline) noexcept {
    const auto at = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.time_since_epoch()).count();
    if (at <= 0) return false;
    const inside in;
    return in.it.wait(&word, &computed::is_equal, expected, static_cast<std::uint64_t>(at))
           != engine::woken::by_time;
}
int futex_wake(const atomic<std::uint32_t>& word, int count) noexcept {
    if (running == nullptr) return 0;
    const inside in;
    return in.it.wake(&word, static_cast<unsigned>(count));
}
int futex_wake_all(const atomic<std::uint32_t>& word) noexcept { return futex_wake(word, ~0U >> 1); }

bool at_thread_exit(void (*action)(void*), void* argument) {
    if (running == nullptr) return true; // the process ends without its exit actions
    const inside in;
    in.it.at_exit(action, argument);
    return true;
}
void set_thread_name(std::string_view) noexcept {}
std::string this_thread_name() { return {}; }
std::uint64_t system_thread_id() noexcept { return check::current_thread() + 1; }
bool set_thread_affinity(std::span<const int>) noexcept { return true; }

thread_probe thread_probe::of_this_thread() noexcept {
    thread_probe made;
    made.thread_ = static_cast<long>(check::current_thread()) + 1;
    return made;
}
std::uint64_t thread_probe::cpu_ns() const noexcept {
    return running != nullptr && thread_ != 0 ? running->cpu_of(static_cast<unsigned>(thread_ - 1)) / 1000
                                              : 0;
}
bool thread_probe::is_asleep() const noexcept {
    return running != nullptr && thread_ != 0 && running->is_asleep(static_cast<unsigned>(thread_ - 1));
}

unsigned usable_concurrency() { return running != nullptr ? running->cores() : 1; }
std::vector<int> usable_cpus() {
    std::vector<int> all(usable_concurrency());
    std::iota(all.begin(), all.end(), 0);
    return all;
}
std::vector<std::vector<int>> numa_nodes() {
    std::vector<std::vector<int>> nodes(1);
    for (const int cpu : usable_cpus()) {
        const unsigned socket =
            running != nullptr ? running->table().socket_of(static_cast<unsigned>(cpu)) : 0;
        if (socket == nodes.size()) nodes.emplace_back();
        nodes[socket].push_back(cpu);
    }
    return nodes;
}

} // namespace ekiden::inline EKIDEN_ABI::sys

/// std::this_thread::sleep_for() calls this function.
extern "C" int nanosleep(const timespec* length, timespec*) {
    using namespace ekiden::computed;
    if (running == nullptr) return 0;
    const inside in;
    const auto ns = static_cast<std::uint64_t>(length->tv_sec) * 1'000'000'000U
                    + static_cast<std::uint64_t>(length->tv_nsec);
    (void)in.it.wait(&asleep, nullptr, 0, in.it.now_ns() + ns);
    return 0;
}

// The C++ runtime would let the only real thread sleep while another fiber initializes a local static.
namespace __cxxabiv1 {

extern "C" int __cxa_guard_acquire(__guard* guard) {
    volatile char* const bytes = reinterpret_cast<char*>(guard);
    while (bytes[0] == 0 && bytes[1] != 0) ekiden::check::spin(false, std::source_location::current());
    if (bytes[0] != 0) return 0;
    bytes[1] = 1;
    return 1;
}
extern "C" void __cxa_guard_release(__guard* guard) noexcept {
    char* const bytes = reinterpret_cast<char*>(guard);
    bytes[0] = 1;
    bytes[1] = 0;
}
extern "C" void __cxa_guard_abort(__guard* guard) noexcept { reinterpret_cast<char*>(guard)[1] = 0; }

} // namespace __cxxabiv1

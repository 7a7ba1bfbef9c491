// Functions that src/ekiden/sys/thread.hpp, src/ekiden/sys/thread_probe.hpp and src/ekiden/sys/topology.hpp
// declare for both builds.
#include <check/engine/engine.hpp>
#include <ekiden/sys/thread.hpp>
#include <ekiden/sys/thread_probe.hpp>
#include <ekiden/sys/topology.hpp>

namespace ekiden::inline EKIDEN_ABI::sys {

bool at_thread_exit(void (*action)(void*), void* argument) {
    check::engine& e = check::the_engine();
    if (!e.active || e.self().past_end) return false;
    e.active = false;
    e.self().at_exit.emplace_back(action, argument);
    e.active = true;
    return true;
}

void set_thread_name(std::string_view) noexcept {}
std::string this_thread_name() { return {}; }
std::uint64_t system_thread_id() noexcept { return 0; }

bool set_thread_affinity(std::span<const int>) noexcept { return true; }

namespace {
/// Returns the thread of a probe. The probe's number is the thread's number plus 1.
const check::model_thread* probed(long number) {
    check::engine& e = check::the_engine();
    if (number == 0 || !e.active) return nullptr;
    e.active = false;
    const check::model_thread& it =
        e.look_at(static_cast<unsigned>(number - 1), std::source_location::current());
    e.active = true;
    return &it;
}
} // namespace

thread_probe thread_probe::of_this_thread() noexcept {
    thread_probe made;
    made.thread_ = static_cast<long>(check::current_thread()) + 1;
    return made;
}

std::uint64_t thread_probe::cpu_ns() const noexcept {
    constexpr std::uint64_t operation_ns = 1000;
    const check::model_thread* const it = probed(thread_);
    return it != nullptr ? it->operations * operation_ns : 0;
}

bool thread_probe::is_asleep() const noexcept {
    const check::model_thread* const it = probed(thread_);
    return it != nullptr && it->state == check::status::waiting;
}

// A model has two processors by default. No file is read.
std::vector<int> usable_cpus() { return {0, 1}; }
unsigned usable_concurrency() {
    const check::model* const subject = check::the_engine().subject;
    return subject != nullptr ? subject->how.processors : 2;
}
std::vector<std::vector<int>> numa_nodes() { return {usable_cpus()}; }

} // namespace ekiden::inline EKIDEN_ABI::sys

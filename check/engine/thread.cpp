// What ekiden/sys/thread.hpp and ekiden/sys/topology.hpp declare for both builds.
#include <check/engine/engine.hpp>
#include <ekiden/sys/thread.hpp>
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

bool set_thread_affinity(std::span<const int>) noexcept { return true; }

// A machine of two processors, read from no file.
std::vector<int> usable_cpus() { return {0, 1}; }
unsigned usable_concurrency() {
    const check::model* const subject = check::the_engine().subject;
    return subject != nullptr ? subject->how.processors : 2;
}
std::vector<std::vector<int>> numa_nodes() { return {usable_cpus()}; }

} // namespace ekiden::inline EKIDEN_ABI::sys

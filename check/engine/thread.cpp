// What ekiden/sys/thread.hpp declares for both builds.
#include <check/engine/engine.hpp>
#include <ekiden/sys/thread.hpp>

namespace ekiden::inline EKIDEN_ABI::sys {

void at_thread_exit(void (*action)(void*), void* argument) {
    check::engine& e = check::the_engine();
    if (!e.active) return;
    e.active = false;
    e.self().at_exit.emplace_back(action, argument);
    e.active = true;
}

void set_thread_name(std::string_view) noexcept {}

bool set_thread_affinity(std::span<const int>) noexcept { return true; }

} // namespace ekiden::inline EKIDEN_ABI::sys

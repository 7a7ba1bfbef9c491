#include <check/engine/watch.hpp>

#include <check/engine/engine.hpp>
#include <check/engine/text.hpp>

#include <sys/time.h>

#include <csignal>
#include <string>

namespace ekiden::check {
namespace {

constexpr unsigned allowed_ticks = 10; // number of ticks within the allowed silence

std::string duration(unsigned ms) {
    return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

/// Fails the execution inside the signal handler, like the handler of fatal signals.
void on_tick(int) {
    engine& e = the_engine();
    if (!e.active) return; // the engine's own code is running
    auto& silence = e.silence;
    if (silence.execution != e.number || silence.steps != e.steps) {
        silence = {silence.allowed_ms, e.number, e.steps, 0};
        return;
    }
    if (++silence.ticks < allowed_ticks) return;
    silence.ticks = 0;
    e.active = false;
    const site& last = e.self().last_site;
    e.fail("T" + std::to_string(e.running) + " has not called the checker for " + duration(silence.allowed_ms)
               + ", last at " + text::short_path(last.file_name()) + ":" + std::to_string(last.line())
               + ": it waits for something that the checker does not see (a std::mutex or std::call_once "
                 "instead of checkable's, input), "
                 "or it loops without an operation of the checker's"
               + e.whereabouts(),
           last);
}

void tick_each(unsigned ms) noexcept {
    const timeval each{static_cast<time_t>(ms / 1000), static_cast<suseconds_t>(ms % 1000 * 1000)};
    const itimerval timer{each, each};
    ::setitimer(ITIMER_REAL, &timer, nullptr);
}

} // namespace

watch::watch(unsigned silence_ms) noexcept {
    the_engine().silence = {silence_ms, 0, 0, 0};
    struct sigaction action{};
    action.sa_handler = on_tick;
    action.sa_flags = SA_NODEFER | SA_ONSTACK | SA_RESTART; // a switch to another stack may leave the handler
    ::sigaction(SIGALRM, &action, nullptr);
    tick_each(silence_ms / allowed_ticks);
}

watch::~watch() { tick_each(0); } // the handler stays installed, because a tick may still arrive

} // namespace ekiden::check

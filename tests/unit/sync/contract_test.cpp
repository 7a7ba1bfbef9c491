#include <ekiden/context/held_locks.hpp>
#include <ekiden/sync/barrier.hpp>
#include <ekiden/sync/latch.hpp>
#include <ekiden/sync/rw_mutex.hpp>
#include <ekiden/sync/state_mutex.hpp>

#include <tests/unit/child_process.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <thread>

namespace {

/// Runs `broken` in a child process and returns what it says on the standard error before it aborts;
/// "survived" if it does not.
template <class Broken>
std::string last_words(Broken broken) {
    const auto child = ekiden_test::run_in_child(broken);
    return child.exit_code == 0 ? "survived" : child.error_output;
}

enum class phase { a, b };
enum class op { flip };
constexpr auto phase_table = ekiden::make_state_table<phase, op>(
    phase::a, {{op::flip, phase::a, phase::b}, {op::flip, phase::b, phase::a}});

} // namespace

TEST_CASE("broken contracts are reported by name") {
    CHECK(last_words([] { (void)ekiden::barrier<>(2).arrive(3); }).find("barrier::arrive: more arrivals")
          != std::string::npos);
    CHECK(last_words([] { ekiden::latch(1).count_down(2); }).find("latch::count_down") != std::string::npos);
    CHECK(last_words([] {
              ekiden::state_mutex<phase_table> m;
              auto inside = m.enter<op::flip>();
          }).find("without having been told the next state")
          != std::string::npos);
    CHECK(last_words([] {
              ekiden::state_mutex<phase_table> m;
              m.enter<op::flip>().leave(phase::a);
          }).find("no such transition")
          != std::string::npos);
    CHECK(last_words([] {
              ekiden::state_lock lock;
              ekiden::async_waiter w;
              w->mask = 2;
              w->resume = [](ekiden::waiter&) noexcept {};
              (void)lock.start(*w);
          }).find("destroyed while a thread or a coroutine waits")
          != std::string::npos);
}

TEST_CASE("an unlock that meets the other kind of hold, or none, is reported") {
    const auto says = [](const char* what, auto broken) {
        CAPTURE(what);
        CHECK(last_words([&] {
                  ekiden::rw_mutex<> m;
                  broken(m);
              }).find(what)
              != std::string::npos);
    };
    const bool checks = ekiden::lock_checks;
    says(checks ? "unlock of an rw_mutex" : "rw_mutex::unlock: no writer is inside",
         [](auto& m) { m.unlock(); });
    says(checks ? "unlock of an rw_mutex" : "rw_mutex::unlock: no writer is inside", [](auto& m) {
        m.lock_shared();
        m.unlock();
    });
    says(checks ? "unlock_shared of an rw_mutex" : "rw_mutex::unlock_shared: no reader is inside",
         [](auto& m) {
             m.lock();
             m.unlock_shared();
         });
    says(checks ? "unlock_shared of an rw_mutex" : "rw_mutex::unlock_shared: no reader is inside",
         [](auto& m) { m.unlock_shared(); });
    // No thread holds it in this way, whichever thread asks.
    says("rw_mutex::upgrade: no reader is inside", [](auto& m) { (void)m.upgrade(); });
    says("rw_mutex::try_upgrade: no reader is inside", [](auto& m) { (void)m.try_upgrade(); });
    says(checks ? "downgrade of an rw_mutex" : "rw_mutex::downgrade: no writer is inside", [](auto& m) {
        m.lock_shared();
        m.downgrade();
    });
}

TEST_CASE("where lock_checks is set, a reader that would wait for itself is reported") {
    const std::string said = last_words([] {
        ekiden::rw_mutex<> m;
        m.lock_shared();
        std::thread writer([&] { m.lock(); });
        while (m.try_lock_shared()) {
            m.unlock_shared();
            std::this_thread::yield();
        }
        if (!ekiden::lock_checks) std::_Exit(0);
        m.lock_shared();
    });
    if (ekiden::lock_checks)
        CHECK(said.find("inside as a reader already") != std::string::npos);
    else
        CHECK(said == "survived");
}

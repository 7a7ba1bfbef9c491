// Misuse of the locks, which is reported where lock_checks is set: in this file's second build,
// lock_checks_test.
#include <ekiden/context/held_locks.hpp>
#include <ekiden/sync/counting_semaphore.hpp>
#include <ekiden/sync/detail/lock_access.hpp>
#include <ekiden/sync/fifo_mutex.hpp>
#include <ekiden/sync/hybrid_mutex.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/sync/rw_mutex.hpp>
#include <ekiden/sync/spin_mutex.hpp>

#include <tests/unit/asleep.hpp>
#include <tests/unit/child_process.hpp>

#include <doctest/doctest.h>

#include <array>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

namespace {

namespace detail = ekiden::detail;

/// `broken` ends its process with this message where lock_checks is set.
template <class Broken>
void reports(const std::string& message, Broken broken) {
    if (!ekiden::lock_checks) return; // without, the same calls may hang
    const auto child = ekiden_test::run_in_child(broken);
    CHECK(child.signal == SIGABRT);
    CHECK(child.error_output == "ekiden: " + message + "\n");
}

template <class Mutex>
void check_misuse(const std::string& kind) {
    static Mutex m;
    reports("unlock of " + kind + " that is free", [] { m.unlock(); });
    reports("unlock of " + kind + " that this thread does not hold", [] {
        m.lock();
        std::thread([] { m.unlock(); }).join();
    });
    reports("lock of " + kind + " that this thread holds: it would wait for itself", [] {
        m.lock();
        m.lock();
    });
    reports("lock of " + kind + " that this thread holds: it would wait for itself", [] {
        if (m.try_lock()) m.lock();
    });
    reports("future::get: this thread waits for the work of others while it holds " + kind, [] {
        m.lock();
        detail::expect_no_lock_held("future::get");
    });
}

} // namespace

TEST_CASE("unlock of a free or a foreign mutex, relock by its owner, and a wait under it are reported") {
    check_misuse<ekiden::mutex>("a mutex");
    check_misuse<ekiden::fifo_mutex>("a fifo_mutex");
    check_misuse<ekiden::hybrid_mutex>("a hybrid_mutex");
    check_misuse<ekiden::spin_mutex>("a spin_mutex");
    check_misuse<ekiden::rw_mutex<>>("an rw_mutex");
    static ekiden::fifo_mutex fifo;
    reports("lock_numbered of a fifo_mutex that this thread holds: it would wait for itself", [] {
        fifo.lock();
        (void)fifo.lock_numbered();
    });
}

TEST_CASE("a reader that unlocks as a writer, and the like, are reported") {
    static ekiden::rw_mutex<> m;
    reports("unlock of an rw_mutex that this thread holds shared", [] {
        m.lock_shared();
        m.unlock();
    });
    reports("unlock_shared of an rw_mutex that this thread holds alone", [] {
        m.lock();
        m.unlock_shared();
    });
    reports("unlock_shared of an rw_mutex that this thread does not hold", [] {
        m.lock_shared();
        std::thread([] { m.unlock_shared(); }).join();
    });
    reports("lock of an rw_mutex that this thread holds: it would wait for itself", [] {
        m.lock_shared();
        m.lock();
    });
    reports("run of an rw_mutex that this thread holds: it would wait for itself", [] {
        m.lock();
        m.run([] {});
    });
    reports("lock_shared of an rw_mutex that this thread holds: it would wait for itself", [] {
        m.lock();
        m.lock_shared();
    });
    reports("upgrade of an rw_mutex that this thread does not hold", [] {
        m.lock_shared();
        std::thread([] { (void)m.upgrade(); }).join();
    });
    reports("downgrade of an rw_mutex that is free", [] { m.downgrade(); });
}

TEST_CASE("a section of rw_mutex::run() that uses its lock is reported") {
    static ekiden::rw_mutex<> m;
    reports("lock of an rw_mutex that this thread holds: it would wait for itself",
            [] { m.run([] { m.lock(); }); });
    reports("lock_shared of an rw_mutex that this thread holds: it would wait for itself",
            [] { m.run([] { m.lock_shared(); }); });
    reports("run of an rw_mutex that this thread holds: it would wait for itself",
            [] { m.run([] { m.run([] {}); }); });
    reports("lock of an rw_mutex that this thread holds: it would wait for itself", [] {
        m.lock(); // so that this thread runs the section of the other one as it leaves
        std::thread waiting = ekiden_test::start_asleep([] { m.run([] { m.lock(); }); });
        m.unlock();
        waiting.join();
    });
}

TEST_CASE("a thread that has had its section run holds nothing and waits for nothing") {
    static ekiden::rw_mutex<> m;
    ekiden::detail::shown_locks mine;
    m.lock();
    std::thread waiting = ekiden_test::start_asleep([&] {
        if (ekiden::lock_checks) ekiden::detail::show_locks(&mine);
        m.run([] {});
        CHECK(mine.wanted() == nullptr);
        CHECK_THROWS(m.run([] { throw 1; }));
    });
    m.unlock();
    waiting.join();
}

template <class Mutex>
void check_early_end(const std::string& kind) {
    reports("end of " + kind + " that is held", [] {
        Mutex m;
        m.lock();
    });
    reports("end of " + kind + " that is held", [] {
        Mutex m;
        std::thread([&] { m.lock(); }).join();
    });
    Mutex m;
    m.lock();
    m.unlock();
}

TEST_CASE("the end of a mutex that is held is reported") {
    check_early_end<ekiden::mutex>("a mutex");
    check_early_end<ekiden::fifo_mutex>("a fifo_mutex");
    check_early_end<ekiden::hybrid_mutex>("a hybrid_mutex");
    check_early_end<ekiden::spin_mutex>("a spin_mutex");
    check_early_end<ekiden::rw_mutex<>>("an rw_mutex");
    reports("end of an rw_mutex that is held", [] {
        ekiden::rw_mutex<> m;
        m.lock_shared();
    });
}

TEST_CASE("the right use of locks is not reported") {
    ekiden::mutex m;
    ekiden::rw_mutex<> rw;
    ekiden::spin_mutex spin;
    {
        const std::scoped_lock all(m, rw, spin);
        CHECK_FALSE(m.try_lock());
        CHECK_FALSE(rw.try_lock());
        CHECK_FALSE(rw.try_lock_shared());
        CHECK_FALSE(spin.try_lock());
        CHECK_FALSE(m.try_lock_for(std::chrono::milliseconds(1)));
    }
    rw.lock_shared();
    CHECK(rw.upgrade());
    rw.downgrade();
    CHECK(rw.try_upgrade());
    rw.unlock();
    detail::expect_no_lock_held("a test");

    std::condition_variable_any changed;
    bool go = false;
    std::thread waiting([&] {
        std::unique_lock lock(m);
        changed.wait(lock, [&] { return go; });
        std::shared_lock shared(rw);
        changed.wait(shared, [&] { return go; });
    });
    {
        const std::lock_guard guard(m);
        go = true;
    }
    changed.notify_all();
    waiting.join();

    ekiden::counting_semaphore<> permit(1); // taken here, given back there
    permit.acquire();
    std::thread([&] { permit.release(); }).join();
    permit.acquire();
}

TEST_CASE("the locks held by a thread are its own, and more than it remembers are not reported") {
    int lock = 0;
    detail::note_held(&lock, "a lock", detail::held::shared);
    CHECK(detail::is_held(&lock) == detail::held::shared);
    std::thread([&] { CHECK(detail::is_held(&lock) == detail::held::no); }).join();
    detail::note_released(&lock);
    CHECK(detail::is_held(&lock) == detail::held::no);
    std::array<ekiden::mutex, 40> many;
    for (auto& m : many) m.lock();
    for (auto& m : many) m.unlock();
    detail::expect_no_lock_held("a test");
    reports("unlock of a mutex that is free", [&] { many[39].unlock(); });
}

TEST_CASE("rule: a thread's lock that another thread releases is reported, what a coroutine holds is not") {
    static ekiden::mutex m;
    static ekiden::rw_mutex<> rw;
    reports("unlock of a mutex that this thread does not hold", [] {
        m.lock(); // in a coroutine that goes on in another thread
        std::thread([] { m.unlock(); }).join();
    });
    // As async_lock() and async_unlock() do it.
    ekiden::detail::lock_access::core(m).enter(ekiden::mutex_base::free);
    ekiden::detail::lock_access::core(rw).apply(
        ekiden::rw_rules<ekiden::rw_policy::writer_next>::writer_enters,
        ekiden::detail::lock_access::begin_writing<decltype(rw)>);
    std::thread([] {
        ekiden::detail::lock_access::end_hold(m);
        ekiden::detail::lock_access::end_hold(rw);
    }).join();
    CHECK(m.try_lock());
    m.unlock();
    CHECK(rw.try_lock());
    rw.unlock();
}

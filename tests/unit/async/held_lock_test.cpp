// A thread's lock that a coroutine takes along to another thread: reported where lock_checks is set, as in a
// Debug build.
#include "../child_process.hpp"

#include <ekiden/async/async_lock.hpp>
#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/resume_on.hpp>
#include <ekiden/async/sync_wait.hpp>
#include <ekiden/context/held_locks.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/sync/rw_mutex.hpp>

#include <doctest/doctest.h>

#include <csignal>

using namespace ekiden;

namespace {

/// Locks by `lock()` in a thread of one pool, and unlocks by `unlock()` in one of another.
template <class Lock, class Unlock>
void lock_here_and_unlock_there(Lock lock, Unlock unlock) {
    thread_pool here(1);
    thread_pool there(1);
    const auto body = [&]() -> coroutine<> {
        lock();
        co_await resume_on(there);
        unlock();
    };
    sync_wait(here.get_executor(), body);
}

} // namespace

TEST_CASE("rule: a thread's lock that is held over an await and released by another thread is reported") {
    if (!lock_checks) return; // without, it is undefined
    mutex m;
    const auto of_mutex = ekiden_test::run_in_child(
        [&] { lock_here_and_unlock_there([&] { m.lock(); }, [&] { m.unlock(); }); });
    CHECK(of_mutex.signal == SIGABRT);
    CHECK(of_mutex.error_output == "ekiden: unlock of a mutex that this thread does not hold\n");
    rw_mutex<> rw;
    const auto of_reader = ekiden_test::run_in_child(
        [&] { lock_here_and_unlock_there([&] { rw.lock_shared(); }, [&] { rw.unlock_shared(); }); });
    CHECK(of_reader.signal == SIGABRT);
    CHECK(of_reader.error_output == "ekiden: unlock_shared of an rw_mutex that this thread does not hold\n");
}

TEST_CASE("rule: a thread that waits for coroutines while it holds a lock is reported") {
    if (!lock_checks) return;
    mutex m;
    const auto child = ekiden_test::run_in_child([&] {
        loop_context never_run;
        m.lock();
        sync_wait(never_run.get_executor(), []() -> coroutine<> { co_return; });
    });
    CHECK(child.signal == SIGABRT);
    CHECK(child.error_output
          == "ekiden: wait: this thread waits for the work of others while it holds a mutex\n");
}

TEST_CASE("rule: what a coroutine has locked by an awaited form may be held over an await, in any thread") {
    thread_pool here(1);
    thread_pool there(1);
    mutex m;
    rw_mutex<> rw;
    const auto body = [&]() -> coroutine<bool> {
        const auto alone = co_await async_lock(m);
        const auto shared = co_await async_lock_shared(rw);
        co_await resume_on(there);
        co_return !m.try_lock() && !rw.try_lock();
    };
    CHECK(sync_wait(here.get_executor(), body));
    CHECK(m.try_lock());
    m.unlock();
    CHECK(rw.try_lock());
    rw.unlock();
}

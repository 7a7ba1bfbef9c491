/// The implementation of std::execution that the tests use, chosen by CMake.
#pragma once

#if defined(EKIDEN_TEST_SENDERS_stdexec)
#include <exec/split.hpp>
#endif

#include <ekiden/adapter/std_execution/scheduler.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

namespace ekiden_test {

namespace ex = ekiden::senders;
namespace ex_tokens = ekiden::senders_tokens;
inline constexpr auto& sync_wait = ekiden::senders_sync_wait::sync_wait;
/// Calls `f` in the only worker of `pool`, and waits. The tests throw and catch exceptions in one thread,
/// because ThreadSanitizer does not see how libstdc++ counts the references to an exception.
template <class F>
void in_worker(ekiden::thread_pool& pool, F f) {
    REQUIRE(pool.thread_count() == 1);
    pool.submit(f).get();
}

} // namespace ekiden_test

/// The implementation of std::execution that the tests use, chosen by CMake.
#pragma once

#if defined(EKIDEN_TEST_SENDERS_beman)
#include <beman/execution/execution.hpp>
#define EKIDEN_SENDERS beman::execution
#define EKIDEN_SENDERS_TOKENS beman::execution
#define EKIDEN_SENDERS_SYNC_WAIT beman::execution
#else
#include <exec/split.hpp>
#endif

#include <ekiden/adapter/std_execution/scheduler.hpp>

namespace ekiden_test {

namespace ex = ekiden::senders;
namespace ex_tokens = ekiden::senders_tokens;
inline constexpr auto& sync_wait = ekiden::senders_sync_wait::sync_wait;
} // namespace ekiden_test

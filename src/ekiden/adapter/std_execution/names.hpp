/// Chooses the implementation of the sender/receiver model (C++26) that the headers of this folder use.
///
/// Part: adapter. Used by: the headers of adapter/std_execution. If the standard library has std::execution,
/// the headers use std::execution. Otherwise they use the first of these implementations that is found:
/// stdexec (<stdexec/execution.hpp>), and Beman Execution (<beman/execution/execution.hpp>, needs C++23). To
/// use another library with the same names, define these macros before the include:
///   EKIDEN_SENDERS            the namespace of set_value, sender_tag and the other names of senders
///   EKIDEN_SENDERS_TOKENS     the namespace of get_stop_token and stop_token_of_t
///   EKIDEN_SENDERS_SYNC_WAIT  the namespace of sync_wait_t
///   EKIDEN_SENDERS_AFFINE     1 (the default) if a sender may have a member function affine(), otherwise 0
#pragma once

#include <ekiden/sys/config.hpp>

#include <version>

#if !defined(EKIDEN_SENDERS)
#if defined(__cpp_lib_senders)
#include <execution>
#include <stop_token>
#define EKIDEN_SENDERS std::execution
#define EKIDEN_SENDERS_TOKENS std
#define EKIDEN_SENDERS_SYNC_WAIT standard_names::this_thread
#elif __has_include(<stdexec/execution.hpp>)
#include <stdexec/execution.hpp>
#define EKIDEN_SENDERS stdexec
#define EKIDEN_SENDERS_TOKENS stdexec
#define EKIDEN_SENDERS_SYNC_WAIT stdexec
#elif __has_include(<beman/execution/execution.hpp>)
#include <beman/execution/execution.hpp>
#define EKIDEN_SENDERS beman::execution
#define EKIDEN_SENDERS_TOKENS beman::execution
#define EKIDEN_SENDERS_SYNC_WAIT beman::execution
// then() of Beman Execution returns no hop if its child has affine(), so a task would not return to its
// scheduler.
#define EKIDEN_SENDERS_AFFINE 0
#else
#error "ekiden: adapter/std_execution: std::execution, stdexec and Beman Execution are missing; see names.hpp"
#endif
#endif
#if !defined(EKIDEN_SENDERS_AFFINE)
#define EKIDEN_SENDERS_AFFINE 1
#endif

namespace ekiden::inline EKIDEN_ABI {

namespace standard_names = std;
namespace senders = EKIDEN_SENDERS;
namespace senders_tokens = EKIDEN_SENDERS_TOKENS;
namespace senders_sync_wait = EKIDEN_SENDERS_SYNC_WAIT;

} // namespace ekiden::inline EKIDEN_ABI

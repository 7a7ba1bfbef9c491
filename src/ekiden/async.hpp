/// Coroutines, and the operations that coroutines can await.
///
/// Part: async. Used by: programs. Includes every public header of this part.
#pragma once

#include <ekiden/async/async_buffer.hpp>
#include <ekiden/async/async_channel.hpp>
#include <ekiden/async/async_event.hpp>
#include <ekiden/async/async_lock.hpp>
#include <ekiden/async/async_scope.hpp>
#include <ekiden/async/async_turn.hpp>
#include <ekiden/async/await_chain.hpp>
#include <ekiden/async/await_future.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/environment.hpp>
#include <ekiden/async/get_environment.hpp>
#include <ekiden/async/resume_on.hpp>
#include <ekiden/async/select.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/async/spawn_options.hpp>
#include <ekiden/async/sync_wait.hpp>
#include <ekiden/async/use_awaitable.hpp>
#include <ekiden/async/when_all.hpp>
#include <ekiden/async/when_any.hpp>
#include <ekiden/async/with_deadline.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/context/suppressed_exceptions.hpp>

/// Executors, strands, and functions that give tasks to executors.
///
/// Part: execution. Used by: programs. Includes every public header of this part.
#pragma once

#include <ekiden/execution/any_executor.hpp>
#include <ekiden/execution/associated_allocator.hpp>
#include <ekiden/execution/associated_executor.hpp>
#include <ekiden/execution/async_result.hpp>
#include <ekiden/execution/bind_allocator.hpp>
#include <ekiden/execution/bind_executor.hpp>
#include <ekiden/execution/defer.hpp>
#include <ekiden/execution/deferred.hpp>
#include <ekiden/execution/detached.hpp>
#include <ekiden/execution/dispatch.hpp>
#include <ekiden/execution/execution_context.hpp>
#include <ekiden/execution/executor.hpp>
#include <ekiden/execution/inline_executor.hpp>
#include <ekiden/execution/post.hpp>
#include <ekiden/execution/priority.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/execution/system_executor.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/execution/then.hpp>
#include <ekiden/execution/use_future.hpp>
#include <ekiden/execution/work_guard.hpp>

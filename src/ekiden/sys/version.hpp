/// The version and the features of the library.
///
/// Part: sys. Used by: programs that support several versions of ekiden. Every part includes this header
/// through config.hpp.
///
/// These features have a macro. The value of the macro is the year and month in which the feature appeared or
/// last changed, as in `<version>`. Check a feature with `#if defined(EKIDEN_LANES) && EKIDEN_LANES >=
/// 202611L`.
#pragma once

/// The version as one number: major * 10000 + minor * 100 + patch. For example, version 0.2.0 has the number
/// 200.
#define EKIDEN_VERSION 200

#define EKIDEN_CHECKER 202611L     ///< check/model.hpp, check/checkable.hpp
#define EKIDEN_COROUTINES 202611L  ///< the headers of async/
#define EKIDEN_EXECUTORS 202611L   ///< executors, completion tokens and strands, in execution/
#define EKIDEN_FLOW 202611L        ///< pipelines and graphs, in flow/
#define EKIDEN_FORK_JOIN 202611L   ///< the parallel algorithms and task_group, in fork/
#define EKIDEN_FUTURES 202611L     ///< continued, shared and ready futures, in future/
#define EKIDEN_LANES 202611L       ///< lanes/lanes.hpp
#define EKIDEN_LOCKS 202611L       ///< the headers of sync/
#define EKIDEN_LOOPS 202611L       ///< the headers of loop/
#define EKIDEN_REQUEST_LOG 202611L ///< observe/request_log.hpp
#define EKIDEN_SIMULATION 202611L  ///< the headers of sim/
#define EKIDEN_STATE_MUTEX 202611L ///< sync/state_mutex.hpp
#define EKIDEN_THREAD_POOL 202611L ///< the headers of pool/
#define EKIDEN_TIMERS 202611L      ///< the headers of timer/
#define EKIDEN_TRACES 202611L      ///< observe/trace.hpp and the headers that show its records

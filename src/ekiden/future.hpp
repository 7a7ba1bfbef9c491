/// Futures and promises.
///
/// Part: future. Used by: programs. Includes every public header of this part.
#pragma once

#include <ekiden/context/suppressed_exceptions.hpp>
#include <ekiden/future/future.hpp>
#include <ekiden/future/future_base.hpp>
#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/future/promise.hpp>
#include <ekiden/future/ready_future.hpp>
#include <ekiden/future/shared_future.hpp>
#include <ekiden/future/when_all.hpp>
#include <ekiden/future/when_any.hpp>

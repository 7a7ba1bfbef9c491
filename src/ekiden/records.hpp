/// Records: requests that travel between processes.
///
/// Part: records. Used by: programs. Includes every public header of this part.
#pragma once

#include <ekiden/records/record.hpp>
#include <ekiden/records/request.hpp>
#include <ekiden/records/retry_options.hpp>
#include <ekiden/records/worker_metrics.hpp>

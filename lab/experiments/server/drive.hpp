/// Experiment server: clients drive the ordered server, which runs their requests in one of four ways.
///
/// The server is a separate process. The clients are either the checking client of tests/server in the cell's
/// process, or redis-benchmark. A wrong reply fails the cell.
#pragma once

#include <lab/harness/cell.hpp>

namespace lab::server {

/// Measures one model: "lanes", "strand-per-key", "global-mutex" or "single".
void drive(cell& c, const char* model);

} // namespace lab::server

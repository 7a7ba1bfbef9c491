/// The ordered server's logic with simulated clients and network: one run of it, for sim::explore.
#pragma once

#include <ekiden/sim/explore.hpp>

namespace sim_server {

/// Up to six clients pipeline requests for up to three keys. They are slow, deaf, cut off or gone, as the
/// seed wants; the server is stopped in their middle, or when they are done. What must hold:
///
/// * for each key: running numbers are 1 to n, each given once, and each total is that of exactly the
/// requests
///   that came before; those of one connection in its order;
/// * replies of a connection come in the order of its requests, each with what its own request asked for;
/// * all that was accepted before the end is run and answered, unless the client is gone or given up by a
///   deadline that it has missed; nothing else is run;
/// * the server ends, with nothing left.
void serve(ekiden::sim_context& outside);

/// The seeds' kinds of faults, and what else they are.
[[nodiscard]] ekiden::sim::options options_of(std::uint64_t seeds);

} // namespace sim_server

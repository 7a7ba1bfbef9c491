/// The ordered server's logic with simulated clients and a simulated network. serve() is one run for
/// sim::explore.
#pragma once

#include <ekiden/sim/explore.hpp>

namespace sim_server {

/// Up to eight clients pipeline requests for up to three keys, and requests with several keys for three
/// accounts. The seed makes some clients slow, stop reading, or disconnect. The server is stopped while they
/// are active, or afterwards. These conditions must hold:
///
/// * For each key, the running numbers are 1 to n, and each is given once. Each total consists of exactly the
///   requests that came before. Requests of one connection are in its order.
/// * The replies of a connection come in the order of its requests, and each belongs to its request.
/// * All requests that were accepted before the end are run and answered, unless the client has
///   disconnected or has missed a deadline. No other request is run.
/// * Each reply, and each key at the end, is the result of running all requests one after the other, in the
///   order in which the server has placed them.
/// * No reply comes before the earlier WAITs of its keys have had their time.
/// * After the second stop of the server, no request begins, and no WAIT waits any longer.
/// * The server ends, and nothing is left.
void serve(ekiden::sim_context& outside);

/// Returns the options for the seeds, including the kinds of faults.
[[nodiscard]] ekiden::sim::options options_of(std::uint64_t seeds);

} // namespace sim_server

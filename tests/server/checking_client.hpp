/// A client that talks to the ordered server over many connections at once and checks every reply.
///
/// Used by: the server's tests, ordered_client, the lab's experiment server. It shares no code with the
/// server.
///
/// What must hold, for each key: the running numbers of its requests are exactly 1 to n, each given once;
/// those of one connection come in its order; and total i is total i - 1 and the number that request i added.
/// Replies come in the order of the requests: each is what its own request must get.
///
/// A connection may be killed at random, with requests unanswered. They may have been run or not. Such
/// connections add the same known number with every request, so that a gap in the numbers tells its sum.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace ordered_client {

struct plan {
    std::string address = "127.0.0.1";
    std::uint16_t port = 0;
    std::string prefix = "key"; ///< of the keys' names; the keys are new to the server, or are reset first
    unsigned connections = 100;
    unsigned keys = 1000;
    std::uint64_t requests = 1'000'000; ///< in all
    unsigned pipeline = 32;             ///< requests of one connection that wait for replies, at most
    unsigned kill_one_in = 0;    ///< so many replies to a connection that may be killed end it; 0: none is
    std::int64_t draws = -1;     ///< WORK with so many draws instead of ADD; at least 0
    bool may_be_refused = false; ///< the server may end connections: what is unanswered then is not run
    std::uint64_t seed = 1;
    std::chrono::milliseconds patience{30'000}; ///< without any progress
};

struct report {
    std::uint64_t sent = 0;
    std::uint64_t answered = 0;
    std::uint64_t lost = 0;   ///< sent over connections that were killed, and not answered
    std::uint64_t killed = 0; ///< connections
    std::uint64_t ended = 0;  ///< connections that the server ended
    std::uint64_t violations = 0;
    std::vector<std::string> first_violations; ///< ten at most
    double seconds = 0;                        ///< from the first request to the last reply
    double p50_us = 0;                         ///< from the sending of a request to its reply
    double p99_us = 0;
};

/// Throws std::system_error if no connection can be had, and std::runtime_error if nothing comes for too
/// long.
[[nodiscard]] report run(const plan& p);

} // namespace ordered_client

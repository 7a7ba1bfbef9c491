/// A client that uses many connections to the ordered server at the same time and checks every reply.
///
/// Used by: the server's tests, ordered_client, the lab's experiment server. It does not share code with the
/// server.
///
/// It checks these conditions. The running numbers of a key's requests are exactly 1 to n, and each is given
/// once. On each connection, they are in order. Total i is total i - 1 plus the number that request i added.
/// Replies are in the order of the requests, and each belongs to its request.
///
/// If the plan has accounts, half of the requests use several accounts, or wait. TRANSFER moves a number
/// between two accounts, MSET sets all accounts, and MGET reads all accounts. WAIT keeps the lane of one
/// account for up to 2 ms, and its reply must not come earlier. Each of these requests keeps the sum over all
/// accounts, so each MGET must find the same sum. The running numbers in the replies must include all earlier
/// requests of the connection. At the end, the running numbers must count each answered request once.
///
/// A connection may be killed at random, with unanswered requests, which may or may not have been run. Each
/// request on such connections adds the same known number. So the size of a gap in the numbers determines its
/// sum.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace ordered_client {

struct plan {
    std::string address = "127.0.0.1";
    std::uint16_t port = 0;
    /// Of the keys' names; the keys are unknown to the server, or are reset first.
    std::string prefix = "key";
    unsigned connections = 100;
    unsigned keys = 1000;
    std::uint64_t requests = 1'000'000; ///< total number
    unsigned accounts = 0;              ///< 0, or 2 to 127, which is the largest number that one MSET can set
    unsigned pipeline = 32;   ///< largest number of requests of one connection that wait for replies
    unsigned kill_one_in = 0; ///< a killable connection is killed after one in this many replies; 0: none
    std::int64_t draws = -1;  ///< if at least 0: sends WORK with this many draws instead of ADD
    /// The server may end connections; then it has not run the unanswered requests.
    bool may_be_refused = false;
    std::uint64_t seed = 1;
    std::chrono::milliseconds patience{30'000}; ///< time without any progress
};

struct report {
    std::uint64_t sent = 0;
    std::uint64_t answered = 0;
    std::uint64_t lost = 0;   ///< requests that were sent over killed connections and not answered
    std::uint64_t killed = 0; ///< killed connections
    std::uint64_t ended = 0;  ///< connections that the server ended
    std::uint64_t violations = 0;
    std::vector<std::string> first_violations; ///< at most ten
    double seconds = 0;                        ///< from the first request to the last reply
    double p50_us = 0;                         ///< from sending a request to its reply
    double p99_us = 0;
};

/// Throws std::system_error if it cannot connect, and std::runtime_error if nothing arrives for too long.
[[nodiscard]] report run(const plan& p);

} // namespace ordered_client

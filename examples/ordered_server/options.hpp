/// The limits and time limits of the server. Everything that a client can make large has a limit, which is
/// checked before memory is allocated.
#pragma once

#include <ekiden/observe.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace ordered {

struct limits {
    std::size_t words = 256;         ///< words of one request; arrays cannot be nested
    std::size_t frame = 64 * 1024;   ///< total bytes of the words of one request
    std::size_t pipeline = 1024;     ///< requests of one connection that wait for replies
    std::size_t output = 256 * 1024; ///< bytes of replies that wait; above this, the client is not read
    std::size_t connections = 4096;  ///< connections at the same time
    std::size_t key = 512;           ///< bytes of a key
    std::size_t keys = 1'000'000;    ///< keys in total
    std::size_t lane = 256;          ///< waiting requests of one key; above this, its clients are not read
    std::size_t under_way = 64;      ///< requests handed over; above this, the network collects replies
    std::int64_t work = 1'000'000;   ///< draws of one WORK request
    std::int64_t wait = 10'000;      ///< milliseconds of one WAIT request
    /// A WORK with at most this many draws is not handed over. -1: everything is handed over.
    std::int64_t work_on_the_spot = 100;
};

struct deadlines {
    using duration = std::chrono::milliseconds;
    std::chrono::microseconds collect{100};    ///< to collect replies, if many requests are under way
    duration idle = std::chrono::minutes(5);   ///< without a request
    duration read = std::chrono::seconds(20);  ///< for a request, from its first byte or the previous reply
    duration write = std::chrono::seconds(20); ///< until the client reads some of the bytes that wait for it
    duration linger = std::chrono::seconds(2); ///< until the client closes its side, after the server
    duration grace = std::chrono::seconds(20); ///< from the signal to the end, for accepted requests
};

struct options {
    std::string address = "127.0.0.1";
    std::uint16_t port = 6380;                ///< 0: any free port
    std::uint16_t metrics_port = 9121;        ///< 0: any free port
    unsigned threads = 0;                     ///< number of workers; 0: one for each usable processor
    std::chrono::milliseconds slow_task{100}; ///< a task that runs for longer is reported
    limits limit;
    deadlines deadline;
    ekiden::request_log* log = nullptr; ///< records the requests that are handed over
};

} // namespace ordered

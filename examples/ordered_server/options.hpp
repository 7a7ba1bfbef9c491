/// What the server allows, and how long it waits. Everything that a client could make large has a limit here,
/// and each is checked before memory is taken.
#pragma once

#include <ekiden/observe.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace ordered {

struct limits {
    std::size_t words = 32;          ///< in one request; arrays in arrays are none, so the depth is one
    std::size_t frame = 64 * 1024;   ///< bytes of all words of one request
    std::size_t pipeline = 1024;     ///< requests of one connection that wait for their replies
    std::size_t output = 256 * 1024; ///< bytes of replies that wait for the client: it stops being read
    std::size_t connections = 4096;  ///< at a time
    std::size_t key = 512;           ///< bytes of a key
    std::size_t keys = 1'000'000;    ///< that the server remembers
    std::size_t lane = 256;          ///< requests of one key that wait: its clients stop being read
    std::size_t under_way = 64;      ///< requests handed over: while there are more, replies are collected
    std::int64_t work = 1'000'000;   ///< draws of one WORK
    std::int64_t work_on_the_spot =
        100; ///< a WORK of at most so many draws is not worth a hand-over; -1: none is
};

struct deadlines {
    using duration = std::chrono::milliseconds;
    std::chrono::microseconds collect{100};    ///< while the server has more to do than it can: for replies
    duration idle = std::chrono::minutes(5);   ///< without a request
    duration read = std::chrono::seconds(20);  ///< for a request, from its first byte, or the reply before
    duration write = std::chrono::seconds(20); ///< until the client takes some of what waits for it
    duration linger = std::chrono::seconds(2); ///< until the client ends its side, after the server has
    duration grace = std::chrono::seconds(20); ///< from the signal to the end, for requests that are accepted
};

struct options {
    std::string address = "127.0.0.1";
    std::uint16_t port = 6380;         ///< 0: any that is free
    std::uint16_t metrics_port = 9121; ///< 0: any that is free
    unsigned threads = 0;              ///< that work; 0: one for each usable processor
    limits limit;
    deadlines deadline;
    ekiden::request_log* log = nullptr; ///< of the requests that are handed over
};

} // namespace ordered

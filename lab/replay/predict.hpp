/// Plays a schedule in virtual time through a model's shape: a discrete-event simulation.
///
/// Used by: forecast.hpp. What it leaves out: a cost is the same for every request, and with any number of
/// processors (no lock of the queues gets hotter, no cache is shared); threads beyond the processors share
/// them evenly, at every moment; how long a sleeping thread takes to wake does not depend on how long it
/// slept.
#pragma once

#include <lab/replay/open_loop.hpp>
#include <lab/replay/schedule.hpp>
#include <lab/replay/shape.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lab::replay {

/// What a model costs beside the requests' own work; nanoseconds.
struct costs {
    double post = 0;     // of the clients' processor, a request
    double overhead = 0; // of the worker's processor, a request
    double wake = 0;     // from the end of post() until a thread that slept begins with it
    double lag = 0;      // how much too late the clients send a request that they waited for
    double sleep = 0;    // how much too long a request waits in the midst of its service
};

struct virtual_machine {
    unsigned processors = 1;
    unsigned workers = 1;
    bool has_clients_processor = true; // one more, for the clients alone
};

/// What a run in virtual time has found. Times count from its begin.
struct prediction {
    run_record record;
    std::vector<std::uint64_t> ends_ns; // of each request that was sent
    std::size_t overtaken = 0;          // requests served after a later one of their key
};

/// Plays `offered`, made with a thousand turns a microsecond, so that a turn is a nanosecond. The same
/// arguments give the same result. Throws std::invalid_argument if there is no processor or no worker.
[[nodiscard]] prediction predict(const schedule& offered, shape formed, const virtual_machine& machine,
                                 const costs& each);

inline constexpr double virtual_turns_per_us = 1'000;

} // namespace lab::replay

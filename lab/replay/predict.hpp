/// Simulates a schedule with a model's shape in virtual time: a discrete-event simulation.
///
/// Used by: forecast.hpp. It makes these simplifications. A cost is the same for every request and for any
/// number of processors: locks of queues do not become more contended, and caches are not shared. Threads
/// beyond the number of processors share these evenly at every moment. The time that a sleeping thread needs
/// to wake does not depend on the length of its sleep.
#pragma once

#include <lab/replay/open_loop.hpp>
#include <lab/replay/schedule.hpp>
#include <lab/replay/shape.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lab::replay {

/// The costs of a model beside the work of the requests, in nanoseconds.
struct costs {
    double post = 0;     // processor time of the clients, per request
    double overhead = 0; // processor time of the worker, per request
    double wake = 0;     // from the end of post() until a sleeping thread begins the request
    double lag = 0;      // how late the clients send a request that they waited for
    double sleep = 0;    // by how much a wait in the middle of a service is too long
};

struct virtual_machine {
    unsigned processors = 1;
    unsigned workers = 1;
    bool has_clients_processor = true; // one more processor, only for the clients
};

/// The result of a run in virtual time. Times count from its beginning.
struct prediction {
    run_record record;
    std::vector<std::uint64_t> ends_ns; // for each request that was sent
    std::size_t overtaken = 0;          // requests that were served after a later one of their key
};

/// Simulates `offered`, which must be made with a thousand turns per microsecond, so that a turn is a
/// nanosecond. Equal arguments give equal results. Throws std::invalid_argument if there is no processor or
/// no worker.
[[nodiscard]] prediction predict(const schedule& offered, shape formed, const virtual_machine& machine,
                                 const costs& each);

inline constexpr double virtual_turns_per_us = 1'000;

} // namespace lab::replay

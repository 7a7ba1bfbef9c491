/// The way in which a model handles requests, as far as it determines their delays.
///
/// Used by: the models of experiment replay (each declares its own), predict.hpp (plays them).
#pragma once

namespace lab::replay {

/// Workers are threads that dequeue the next request when they are free. A request that waits during its
/// service occupies its worker, but no processor.
enum class shape {
    serial,             // one at a time, in the order of arrival
    sharded,            // a queue for each worker; a key belongs to one queue
    keyed,              // one at a time of each key, in order; keys in turn over the workers, each with all
                        // that waits at the begin of its turn
    elastic_keyed,      // the same, and a waiting worker is replaced
    mutex_per_key,      // one queue; a worker that meets a locked key waits for it and does nothing else
    pool,               // one queue
    elastic_pool,       // the same, and a waiting worker is replaced
    thread_per_request, // all at the same time
};

/// The largest number of waiting workers that are replaced.
inline constexpr unsigned spare_threads = 64;

/// The largest number of threads for requests. If it is reached, the clients wait until one ends.
inline constexpr unsigned most_threads = 512;

} // namespace lab::replay

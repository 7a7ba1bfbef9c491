/// What a model does with requests, as far as their delays follow from it.
///
/// Used by: the models of experiment replay (each declares its own), predict.hpp (plays them).
#pragma once

namespace lab::replay {

/// Workers are threads that take the next request when they are free. A request that waits in the midst of
/// its service holds its worker, but no processor.
enum class shape {
    serial,             // one at a time, in the order of arrival
    sharded,            // a queue for each worker; a key belongs to one of them
    keyed,              // one at a time of each key, in order; keys in turn over the workers, each with all
                        // that waits at the begin of its turn
    elastic_keyed,      // the same, and a worker that waits is replaced
    mutex_per_key,      // one queue; a worker that meets a locked key waits for it, and does nothing else
    pool,               // one queue
    elastic_pool,       // the same, and a worker that waits is replaced
    thread_per_request, // all at the same time
};

/// How many waiting workers are replaced at most.
inline constexpr unsigned spare_threads = 64;

/// More threads for requests at a time than this, and the clients wait until one has ended.
inline constexpr unsigned most_threads = 512;

} // namespace lab::replay

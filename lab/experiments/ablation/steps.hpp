/// The tuning steps of the source, as switches of one pool.
///
/// Used by: stepped_pool, and ablation.hpp, which lists the combinations that are measured.
#pragma once

namespace lab::ablation {

/// Everything is off by default: each worker has a queue under a mutex, and workers steal from each other.
/// This is the source's pool before tuning. Each task is a std::function around a shared std::packaged_task.
struct steps {
    bool padding = false;        // data that different threads write lies on different cache lines
    bool batch = false;          // a worker dequeues up to 16 tasks at once
    bool local_queue = false;    // a task spawned inside a task goes to its worker's private list
    bool numa = false;           // workers are spread over the nodes and bound to theirs
    bool node_pool = false;      // task nodes are recycled
    bool lock_free = false;      // Chase-Lev deques and lock-free inboxes instead of mutexes
    bool without_future = false; // a detached task is stored in its node: no packaged_task, no std::function
};

/// How many tasks a worker dequeues at once with the step `batch`.
inline constexpr unsigned batch_size = 16;

} // namespace lab::ablation

/// The options that all parallel algorithms have in common.
///
/// Part: fork. Used by: programs, the parallel algorithms.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstddef>
#include <functional>
#include <stop_token>

namespace ekiden::inline EKIDEN_ABI {

/// Options of the parallel algorithms. An algorithm ignores options that do not apply to it.
struct loop_options {
    /// A piece of the loop is split only if it has more than this number of iterations. If `grain` is 0, any
    /// piece may be split. For parallel_sort() and parallel_stable_sort(), 0 means 2048 elements. With
    /// `deterministic`, 0 means 1024. A loop checks for a stop request, and whether another thread asks for
    /// work, once in `grain` iterations.
    std::size_t grain = 0;
    /// Ends the algorithm when a stop is requested. If a stop was requested before the call, the algorithm
    /// ends at once. Pieces that have not begun are left out. The algorithm returns false when all pieces
    /// that have begun have ended. parallel_reduce() and the searches throw operation_canceled instead,
    /// because they have no result then. Completed pieces are not undone.
    std::stop_token stop = {};
    /// Reports the progress. The algorithm calls `progress` about a hundred times, and at the end. The
    /// argument `done` is the number of completed iterations. Any participating thread may call `progress`,
    /// but only one thread at a time. An exception of `progress` counts as an exception of the body.
    std::function<void(std::size_t done, std::size_t total)> progress = {};
    /// This option applies only to parallel_reduce(). If true, the order in which values are combined depends
    /// only on the number of iterations and on the grain.
    bool deterministic = false;
    /// At most this number of threads run the algorithm at the same time. If `concurrency` is 0, all workers
    /// of the pool may take part. Calls that an iteration forks itself do not count.
    std::size_t concurrency = 0;
};

} // namespace ekiden::inline EKIDEN_ABI

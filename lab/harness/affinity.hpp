/// The processors on which the threads of this process run.
///
/// Used by: cell, for pinned runs. It binds the threads of any library from outside, in the order in which
/// the system lists them. So no peer needs its own affinity interface.
#pragma once

#include <vector>

namespace lab {

/// Returns the processors that this process may use, in ascending order.
[[nodiscard]] std::vector<int> usable_cpus();

/// Binds the calling thread to processor number `index` of `cpus`, modulo their number.
void bind_this_thread(const std::vector<int>& cpus, unsigned index);

/// Binds the calling thread to all of `cpus`.
void bind_this_thread_to_all(const std::vector<int>& cpus);

/// Binds the calling thread to the first processor of `cpus`. Binds the other threads of the process, in the
/// order of their ids, to the following processors in turn.
void bind_all_threads(const std::vector<int>& cpus);

} // namespace lab

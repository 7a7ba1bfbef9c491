/// Which processors the threads of this process run on.
///
/// Used by: cell, for pinned runs. It binds the threads of any library from outside, as the system lists
/// them, so that no peer needs an affinity interface of its own.
#pragma once

#include <vector>

namespace lab {

/// The processors that this process may use, ascending.
[[nodiscard]] std::vector<int> usable_cpus();

/// Binds the calling thread to the `index`-th processor of `cpus`, modulo their number.
void bind_this_thread(const std::vector<int>& cpus, unsigned index);

/// Binds the calling thread to the first processor of `cpus` and every other thread of the process, in the
/// order of their ids, to the following ones in turn.
void bind_all_threads(const std::vector<int>& cpus);

} // namespace lab

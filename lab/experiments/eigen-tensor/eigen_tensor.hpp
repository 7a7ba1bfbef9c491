/// Experiment eigen-tensor: expressions of Eigen's Tensor module on a pool.
#pragma once

#include <lab/harness/cell.hpp>

#include <unsupported/Eigen/CXX11/ThreadPool>

namespace lab::eigen_tensor {

/// Measures the requested variant on a pool with as many threads as there are workers.
void measure(cell& c, Eigen::ThreadPoolInterface& pool);

template <class System>
void run(cell& c) {
    System system(c.workers());
    measure(c, system.pool());
}

} // namespace lab::eigen_tensor

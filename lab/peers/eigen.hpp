/// Peer: the thread pool of Eigen's Tensor module, which TensorFlow also uses.
///
/// Used by: bursts. Experiment eigen-tensor uses it through Eigen's own device.
#pragma once

#include <lab/peers/row.hpp>

#include <unsupported/Eigen/CXX11/ThreadPool>
#include <utility>

namespace lab::peers {

class eigen {
public:
    static constexpr peers::row row{"eigen", "Eigen's pool", 20};

    explicit eigen(unsigned workers) : pool_(static_cast<int>(workers)) {}

    template <class F>
    void post(F f) {
        pool_.Schedule(std::move(f));
    }

private:
    Eigen::ThreadPool pool_;
};

} // namespace lab::peers

#include <lab/harness/registry.hpp>

#if __has_include(<unsupported/Eigen/CXX11/ThreadPool>)
#include <examples/eigen_pool.hpp>
#include <lab/experiments/eigen-tensor/eigen_tensor.hpp>

#include <chrono>
#include <ekiden/pool/thread_pool.hpp>
#endif

namespace lab::eigen_tensor {
namespace {

bool add_one(const char* name, const char* title, int order, const char* note, void (*run)(cell&)) {
    return add(implementation{.experiment = "eigen-tensor",
                              .name = name,
                              .title = title,
                              .note = note,
                              .run = run,
                              .order = order});
}

#if __has_include(<unsupported/Eigen/CXX11/ThreadPool>)

/// `SpinUs` is how long idle workers search for work.
template <unsigned SpinUs>
class ours {
public:
    explicit ours(unsigned workers)
        : pool_({.threads = workers, .spin_time = std::chrono::microseconds(SpinUs)}) {}
    Eigen::ThreadPoolInterface& pool() { return adapter_; }

private:
    ::ekiden::thread_pool pool_;
    eigen_pool adapter_{pool_};
};

const bool added = add_one("ekiden", "ekiden", 1, "", &run<ours<0>>)
                   && add_one("ekiden-awake", "ekiden, spin_time 1 ms", 2, "idle workers stay awake for 1 ms",
                              &run<ours<1000>>);

#else

const bool added = add_one("ekiden", "ekiden", 1, "",
                           [](cell& c) { c.not_applicable("built without Eigen (Debian: libeigen3-dev)"); });

#endif

} // namespace
} // namespace lab::eigen_tensor

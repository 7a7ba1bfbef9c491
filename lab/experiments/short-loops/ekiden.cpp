#include <lab/experiments/short-loops/short_loops.hpp>
#include <lab/peers/row.hpp>

#include <chrono>
#include <cstddef>
#include <ekiden/fork/parallel_for.hpp>
#include <ekiden/pool/thread_pool.hpp>

namespace lab::short_loops {
namespace {

/// The caller is a worker. `SpinUs` is how long idle workers search for work.
template <unsigned SpinUs>
class in_pool {
public:
    explicit in_pool(unsigned workers)
        : pool_({.threads = workers, .spin_time = std::chrono::microseconds(SpinUs)}) {}

    template <class Body>
    void enter(const Body& body) {
        pool_.submit([&body] { body(); }).get();
    }
    template <class Body>
    void loop(std::size_t n, Body body) {
        ::ekiden::parallel_for(std::size_t{0}, n, body);
    }

private:
    ::ekiden::thread_pool pool_;
};

/// The caller is a thread outside the pool. The pool has all workers.
class from_outside {
public:
    explicit from_outside(unsigned workers) : pool_({.threads = workers}) {}

    template <class Body>
    void loop(std::size_t n, Body body) {
        ::ekiden::parallel_for(pool_, std::size_t{0}, n, body);
    }

private:
    ::ekiden::thread_pool pool_;
};

template <class System>
bool add_one(const char* name, const char* title, int order, const char* note) {
    return add(implementation{.experiment = "short-loops",
                              .name = name,
                              .title = title,
                              .note = note,
                              .run = &run<System>,
                              .order = order});
}

const bool added =
    add_one<in_pool<0>>("ekiden", "ekiden", 1, "")
    && add_one<in_pool<1000>>("ekiden-awake", "ekiden, spin_time 1 ms", 2, "idle workers stay awake for 1 ms")
    && add_one<from_outside>("ekiden-outside", "ekiden, from outside", 3,
                             "the caller is no worker, and waits");

} // namespace
} // namespace lab::short_loops

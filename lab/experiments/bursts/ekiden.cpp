#include <lab/experiments/bursts/bursts.hpp>
#include <lab/peers/row.hpp>

#include <chrono>
#include <cstddef>
#include <ekiden/fork/task_group.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <utility>

namespace lab::bursts {
namespace {

/// `SpinUs` is how long idle workers search for work.
template <unsigned SpinUs>
class from_outside {
public:
    explicit from_outside(unsigned workers)
        : pool_({.threads = workers, .spin_time = std::chrono::microseconds(SpinUs)}) {}

    template <class F>
    void post(F f) {
        pool_.post(std::move(f));
    }

private:
    ::ekiden::thread_pool pool_;
};

/// The caller is a worker of the pool.
template <unsigned SpinUs>
class in_pool {
public:
    explicit in_pool(unsigned workers)
        : pool_({.threads = workers, .spin_time = std::chrono::microseconds(SpinUs)}) {}

    template <class Body>
    void enter(const Body& body) {
        pool_.submit([&body] { body(); }).get();
    }
    template <class Block>
    void burst(std::size_t blocks, const Block& block) {
        ::ekiden::task_group group(pool_);
        for (std::size_t i = 1; i != blocks; ++i) group.spawn([&block, i] { block(i); });
        block(0);
        group.wait();
    }

private:
    ::ekiden::thread_pool pool_;
};

template <class System>
bool add_one(const char* name, const char* title, int order, const char* note, const char* manner = "") {
    return add(implementation{.experiment = "bursts",
                              .name = name,
                              .title = title,
                              .note = note,
                              .run = &run<System>,
                              .order = order,
                              .manner = manner});
}

const bool added =
    add_one<from_outside<0>>("ekiden", "ekiden", 1, "")
    && add_one<from_outside<1000>>("ekiden-awake", "ekiden, spin_time 1 ms", 2,
                                   "idle workers stay awake for 1 ms", "spins")
    && add_one<in_pool<0>>("ekiden-group", "ekiden, task_group", 3,
                           "the caller is a worker, and runs tasks while it waits")
    && add_one<in_pool<1000>>("ekiden-group-awake", "ekiden, task_group, spin_time 1 ms", 4,
                              "the caller is a worker; idle workers stay awake for 1 ms", "spins");

} // namespace
} // namespace lab::bursts

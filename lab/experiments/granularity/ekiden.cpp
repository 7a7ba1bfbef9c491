#include <lab/experiments/granularity/granularity.hpp>
#include <lab/peers/ekiden.hpp>

#include <ekiden/fork/task_group.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <utility>

namespace lab::granularity {
namespace {

/// The producer is a worker of the pool, and runs tasks while it waits.
class in_group {
public:
    explicit in_group(unsigned workers) : pool_({.threads = workers}) {}

    template <class Body>
    void enter(Body body) {
        pool_
            .submit([&] {
                ::ekiden::task_group group(pool_);
                group_ = &group;
                body();
                group.wait();
            })
            .get();
    }
    template <class F>
    void post(F f) {
        group_->spawn(std::move(f));
    }

private:
    ::ekiden::thread_pool pool_;
    ::ekiden::task_group* group_ = nullptr;
};

const bool added = peers::add_row<peers::ekiden>("granularity", &run<peers::ekiden>);

const bool added_group = add(implementation{.experiment = "granularity",
                                            .name = "ekiden-group",
                                            .title = "ekiden, task_group",
                                            .note = "the producer is a worker",
                                            .run = &run<in_group>,
                                            .order = 2,
                                            .manner = "team"});

} // namespace
} // namespace lab::granularity

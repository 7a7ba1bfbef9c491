#include <lab/experiments/nested-spawn/nested_spawn.hpp>
#include <lab/peers/ekiden.hpp>

#include <ekiden/fork/fork_join.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <utility>

namespace lab::nested_spawn {
namespace {

/// Runs the two children of a task inline, unless another thread steals one.
class by_invoke {
public:
    explicit by_invoke(unsigned workers) : pool_({.threads = workers}) {}

    template <class F>
    void post(F f) {
        pool_.post([this, f] { ::ekiden::parallel_invoke(pool_, f, [] {}); });
    }
    template <class F>
    static void spawn_two(::ekiden::fork_scope& scope, const F& f, const F& g) {
        ::ekiden::parallel_invoke(scope, f, g);
    }

private:
    ::ekiden::thread_pool pool_;
};

const bool added = peers::add_row<peers::ekiden>("nested-spawn", &run<peers::ekiden>);

const bool added_invoke = add(implementation{.experiment = "nested-spawn",
                                             .name = "ekiden-invoke",
                                             .title = "ekiden, parallel_invoke",
                                             .note = "a task waits for its children",
                                             .run = &run<by_invoke>,
                                             .order = 2,
                                             .manner = "inline"});

} // namespace
} // namespace lab::nested_spawn

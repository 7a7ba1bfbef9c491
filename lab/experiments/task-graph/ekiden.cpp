#include <lab/experiments/task-graph/task_graph.hpp>
#include <lab/peers/row.hpp>

#include <ekiden/flow/task_graph.hpp>
#include <ekiden/pool/thread_pool.hpp>

namespace lab::task_graph {
namespace {

class ekiden_graph {
public:
    static constexpr peers::row row{"ekiden", "ekiden", 1};

    ekiden_graph(unsigned workers, shape& todo) : pool_({.threads = workers}) {
        std::vector<ekiden::task_graph::node> nodes;
        for (std::size_t i = 0; i != todo.size(); ++i) {
            nodes.push_back(graph_.add([&todo, i] { todo.call(i); }));
            for (const std::size_t earlier : todo.before[i]) nodes[earlier].precede(nodes[i]);
        }
    }

    void run_many(std::size_t runs) {
        // In oneTBB, the caller counts as one of the threads. So the caller is a worker here.
        pool_
            .submit([&] {
                for (std::size_t r = 0; r != runs; ++r) (void)graph_.run();
            })
            .get();
    }

private:
    ekiden::thread_pool pool_;
    ekiden::task_graph graph_;
};

const bool added = peers::add_row<ekiden_graph>("task-graph", &run<ekiden_graph>);

} // namespace
} // namespace lab::task_graph

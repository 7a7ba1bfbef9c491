#include <lab/experiments/task-graph/task_graph.hpp>
#include <lab/peers/row.hpp>

#include <memory>
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

namespace lab::task_graph {
namespace {

template <class... Policy>
class flow_graph {
    using message = tbb::flow::continue_msg;
    using node = tbb::flow::continue_node<message, Policy...>;

public:
    flow_graph(unsigned workers, shape& todo)
        : limit_(tbb::global_control::max_allowed_parallelism, workers), arena_(static_cast<int>(workers)) {
        arena_.execute([&] {
            graph_ = std::make_unique<tbb::flow::graph>();
            for (std::size_t i = 0; i != todo.size(); ++i) {
                nodes_.push_back(
                    std::make_unique<node>(*graph_, [&todo, i](const message&) { todo.call(i); }));
                for (const std::size_t earlier : todo.before[i])
                    tbb::flow::make_edge(*nodes_[earlier], *nodes_[i]);
            }
        });
    }

    void run_many(std::size_t runs) {
        arena_.execute([&] {
            for (std::size_t r = 0; r != runs; ++r) {
                nodes_.front()->try_put(message()); // the only node without nodes before it
                graph_->wait_for_all();
            }
        });
    }

private:
    tbb::global_control limit_;
    tbb::task_arena arena_;
    std::unique_ptr<tbb::flow::graph> graph_;
    std::vector<std::unique_ptr<node>> nodes_;
};

struct onetbb_graph : flow_graph<> {
    static constexpr peers::row row{"onetbb", "oneTBB", 30};
    using flow_graph::flow_graph;
};
struct onetbb_lightweight_graph : flow_graph<tbb::flow::lightweight> {
    static constexpr peers::row row{"onetbb-lightweight", "oneTBB lightweight", 31};
    using flow_graph::flow_graph;
};

const bool added = peers::add_row<onetbb_graph>("task-graph", &run<onetbb_graph>, "flow::continue_node");
const bool lightweight_added = peers::add_row<onetbb_lightweight_graph>(
    "task-graph", &run<onetbb_lightweight_graph>, "without tasks", false);

} // namespace
} // namespace lab::task_graph

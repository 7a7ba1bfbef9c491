/// A graph of tasks: the program builds it once, and runs it as often as it likes.
///
/// Part: flow. Used by: programs. The protocol is described in flow.md.
#pragma once

#include <ekiden/execution/executor.hpp>
#include <ekiden/flow/detail/graph_run.hpp>
#include <ekiden/future/future.hpp>
#include <ekiden/pool/default_pool.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The options of a run of a task_graph.
struct task_graph_options {
    /// Ends the run when a stop is requested, like task_graph::request_stop().
    std::stop_token stop = {};
};

/// A graph of tasks with an order between them, which can run many times.
///
/// The nodes of the graph are callables. An edge from node a to node b means that b begins after a has ended.
/// A node without incoming edges begins at once. The callable of a node is called without arguments, or with
/// the stop token of the run. It may be a coroutine (coroutine<void>), and then no thread is blocked while
/// the node waits.
///
/// A condition is a node that chooses its successor. Its callable returns a number, and the successor with
/// this number begins. The successors are numbered from 0 in the order in which the edges were added. If the
/// number is not the number of a successor, no successor begins. So a condition ends a loop, or selects a
/// branch. A condition begins its successor at once, even if other edges lead to this successor. The nodes
/// after a node that never runs do not run either.
///
/// A node that follows several nodes begins when each of them has ended once more. In a loop, a node may run
/// many times, but it never runs concurrently with itself.
///
/// Exceptions: if a node throws, no other node begins. Nodes that have begun are completed. Their stop token
/// gets a stop request, so that a node that waits can return early.
///
/// Thread safety: request_stop() and stop_requested() may be called concurrently with all other functions,
/// except the destructor. While a run is in progress, add(), precede() and a second start are refused with
/// std::system_error(device_or_resource_busy). All other calls need exclusive access to the graph.
/// Ordering: what a node does happens before each node begins that follows it. What the caller of start() did
/// happens before the first node. Everything happens before the end of run(), and before the future of
/// start() is ready. Lifetime: the destructor requests a stop and waits for the run. A node must not destroy
/// its own graph. A graph is destroyed with all its callables. In the child of a fork(), the destructor does
/// not wait for a run that the parent process has begun.
class task_graph {
public:
    /// A handle of a node. A handle is cheap to copy, and valid as long as its graph exists.
    class node {
    public:
        /// Adds edges from this node to the given nodes. Returns this node. Throws std::invalid_argument if a
        /// node belongs to another graph. Throws std::bad_alloc.
        template <std::same_as<node>... Nodes>
        node precede(const Nodes&... later) const {
            (detail::graph_run::connect(*node_, *later.node_), ...);
            return *this;
        }
        /// Adds edges from the given nodes to this node. Returns and throws like precede().
        template <std::same_as<node>... Nodes>
        node succeed(const Nodes&... earlier) const {
            (detail::graph_run::connect(*earlier.node_, *node_), ...);
            return *this;
        }
        /// Returns the name of the node. If the node was added without a name, returns "node " and its
        /// number.
        [[nodiscard]] const std::string& name() const noexcept { return node_->name(); }
        friend bool operator==(const node&, const node&) = default;

    private:
        friend class task_graph;
        explicit node(detail::graph_node& own) noexcept : node_(&own) {}

        detail::graph_node* node_;
    };

    /// Constructs an empty graph.
    task_graph() = default;
    /// Requests a stop of a run in progress and waits for its end.
    ~task_graph() = default;
    task_graph(const task_graph&) = delete;
    task_graph& operator=(const task_graph&) = delete;

    /// Adds a node that calls `f()` or `f(token)`. `f` is copied or moved into the graph. Throws
    /// std::invalid_argument if `f` is an empty callable, such as an empty std::function. Throws
    /// std::bad_alloc, and whatever the copy of `f` throws.
    template <class F>
        requires(!std::convertible_to<F, std::string_view>)
    node add(F&& f) {
        return add(std::string(), std::forward<F>(f));
    }
    /// Adds a node with a name, which messages and diagrams show. In all other respects like add(f).
    template <class F>
    node add(std::string name, F&& f) {
        return add_node<false>(std::move(name), std::forward<F>(f));
    }
    /// Adds a condition, whose callable returns the number of the successor that begins. The result is a
    /// bool, another integer, or a coroutine of one of these. The value false is 0. A negative number chooses
    /// no successor. In all other respects like add(f).
    template <class F>
        requires(!std::convertible_to<F, std::string_view>)
    node add_condition(F&& f) {
        return add_condition(std::string(), std::forward<F>(f));
    }
    /// Adds a condition with a name.
    template <class F>
    node add_condition(std::string name, F&& f) {
        return add_node<true>(std::move(name), std::forward<F>(f));
    }

    /// Runs the graph once in workers of `pool`, and waits for the end. Returns true if the run came to its
    /// end. Returns false if a stop was requested before the end.
    ///
    /// If a worker of a pool calls run(), the worker runs other tasks of that pool meanwhile, like in
    /// future::get(). So the caller must hold no lock that the other tasks may acquire. A node may run
    /// another graph in this way.
    ///
    /// Throws std::invalid_argument if a node can never begin, because it waits for itself by a cycle of
    /// edges. The message names the nodes of the cycle. The graph is checked only in the first run after a
    /// change. Throws std::system_error(device_or_resource_busy) if a run of this graph is in progress. If
    /// nodes have thrown, throws the exception that was thrown first. suppressed_exceptions() returns the
    /// others. Throws operation_canceled if the pool was stopped, or if there is no memory for a coroutine.
    /// Throws std::bad_alloc.
    bool run(thread_pool& pool, const task_graph_options& options = {}) {
        const any_executor where(pool.get_executor());
        return detail::flow_run::run(
            where, run_.has_coroutines(),
            [&](detail::flow_run::waiting_call* caller) { return run_.start(where, options.stop, caller); });
    }
    /// Runs the graph like the overload with a pool, in this_pool().
    bool run(const task_graph_options& options = {}) { return run(this_pool(), options); }

    /// Starts a run in workers of `pool`, and returns its future at once. The future has the result of run(),
    /// or the first exception. The other exceptions are dropped. A coroutine can await the future. If the
    /// pool is stopped while coroutines of the run wait, the future may become ready only when the pool is
    /// destroyed. Throws like run(), except for exceptions of the nodes.
    [[nodiscard]] future<bool> start(thread_pool& pool, const task_graph_options& options = {}) {
        return run_.start(pool.get_executor(), options.stop, nullptr);
    }
    /// Starts a run like the overload with a pool, in this_pool().
    [[nodiscard]] future<bool> start(const task_graph_options& options = {}) {
        return start(this_pool(), options);
    }
    /// Starts a run on the executor `where`. The nodes run as functions of this executor.
    template <executor E>
    [[nodiscard]] future<bool> start(const E& where, const task_graph_options& options = {}) {
        return run_.start(where, options.stop, nullptr);
    }

    /// Requests a stop of the run in progress. No other node begins. Nodes that have begun are completed, and
    /// their stop token has the request. Returns false if no run is in progress, or if a stop of the run was
    /// requested before.
    bool request_stop() noexcept { return run_.common().request_stop(); }
    /// Returns whether a stop of the run in progress has been requested. If no run is in progress, answers
    /// for the last run.
    [[nodiscard]] bool stop_requested() const noexcept { return run_.common().stop_requested(); }

    /// Returns the number of nodes.
    [[nodiscard]] std::size_t size() const noexcept { return run_.size(); }
    /// Returns whether the graph has no nodes. A run of an empty graph ends at once.
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }

    /// Returns the graph in the language of Graphviz. The command `dot -Tsvg` of Graphviz draws it. A
    /// condition is a diamond. Its edges are dashed, and their labels are the numbers of the successors.
    /// Throws std::bad_alloc.
    [[nodiscard]] std::string diagram(std::string_view name = "task_graph") const {
        return run_.diagram(name);
    }

private:
    template <bool IsCondition, class F>
    node add_node(std::string name, F&& f) {
        using callable = std::decay_t<F>;
        ekiden::refuse_empty<callable>(f, "task_graph::add");
        return node(run_.add(std::make_unique<detail::graph_node_of<callable, IsCondition>>(
            std::move(name), std::forward<F>(f))));
    }

    detail::graph_run run_;
};

} // namespace ekiden::inline EKIDEN_ABI

/// The engine of a task_graph.
///
/// Part: flow. Used by: task_graph. flow.md describes the protocol.
#pragma once

#include <ekiden/flow/detail/flow_run.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::detail {

class graph_run;

/// A node of a graph, and the task that runs it. The counters are described in flow.md.
class graph_node : public task {
public:
    /// A number that chooses no successor.
    static constexpr std::size_t no_choice = static_cast<std::size_t>(-1);

    /// Calls the callable. Returns false if it is a coroutine, which continues the run later. This function
    /// is not virtual, because g++ would then warn about the linkage of the coroutine's frame.
    using caller = bool (*)(graph_node& self, graph_run& run, std::size_t& choice);

    graph_node(std::string name, bool is_condition, bool is_coroutine, function answer, caller call) noexcept
        : task(answer), call_(call), is_condition_(is_condition), is_coroutine_(is_coroutine),
          name_(std::move(name)) {}
    virtual ~graph_node() = default;

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

protected:
    static void run_as_task(graph_node& self, task_request request) noexcept;

private:
    friend class graph_run;
    friend class ready_nodes;
    friend struct node_done;

    const caller call_;
    const bool is_condition_;
    const bool is_coroutine_;
    graph_run* owner_ = nullptr;
    std::vector<graph_node*> next_;
    std::uint64_t strong_ = 0; // the edges from nodes that are no conditions
    // Without conditions: the edges that must be passed before the node begins. With conditions: how many
    // edges have been passed in this run.
    sys::atomic<std::uint64_t> edges_{0};
    // Only in a graph with conditions: the begins of the node that have not ended.
    sys::atomic<std::uint32_t> begun_{0};
    graph_node* next_in_list_ = nullptr; // in a list of nodes that may begin; see ready_nodes
    graph_node* first_inside_ =
        nullptr;             // the nodes that the task of this node posts before it runs this node
    unsigned char rank_ = 0; // the logarithm of the number of nodes in this tree of ready_nodes
    std::size_t number_ = 0;
    std::string name_;
};

/// The end of a node that is a coroutine.
struct node_done {
    graph_run* run;
    graph_node* node;
    std::size_t* choice; // null in a node that is no condition

    template <class... Value>
    void store([[maybe_unused]] const Value&... value) const noexcept {
        if constexpr (sizeof...(Value) == 1 && (std::integral<Value> && ...)) {
            if (choice != nullptr) *choice = (static_cast<std::size_t>(value), ...);
        }
    }
    void succeed() const noexcept;
    void fail(std::exception_ptr error) const noexcept;
    void drop() const noexcept;
};

/// The nodes that one thread has found to be ready, and gives to other threads.
///
/// The nodes are in binomial trees. The task of a root first posts the trees inside its tree, the largest
/// tree first. So a thief, which steals the oldest task, steals about half of the nodes that are left. If
/// each node were a task in the deque, a thief would steal each node separately, and each theft would cost a
/// heavy fence. A thread adds a node in amortised constant time.
class ready_nodes {
public:
    /// For at most this number of nodes, single posts are faster.
    static constexpr std::size_t few = 8;

    void add(graph_node& node) noexcept {
        graph_node* tree = &node;
        tree->rank_ = 0;
        while (smallest_ != nullptr && smallest_->rank_ == tree->rank_) {
            graph_node* const root = std::exchange(smallest_, smallest_->next_in_list_);
            tree->next_in_list_ = root->first_inside_;
            root->first_inside_ = tree;
            ++root->rank_;
            tree = root;
        }
        tree->next_in_list_ = smallest_;
        smallest_ = tree;
    }
    /// Removes all trees. Returns the list of their roots. The root of the largest tree is the first.
    [[nodiscard]] graph_node* take() noexcept {
        graph_node* list = nullptr;
        while (smallest_ != nullptr) {
            graph_node* const tree = std::exchange(smallest_, smallest_->next_in_list_);
            tree->next_in_list_ = list;
            list = tree;
        }
        return list;
    }

private:
    graph_node* smallest_ = nullptr; // the trees, in the order of their ranks
};

/// All nodes of a graph, and its run.
class graph_run {
public:
    graph_run() = default;
    graph_run(const graph_run&) = delete;
    graph_run& operator=(const graph_run&) = delete;
    ~graph_run() { common_.stop_and_wait(has_coroutines_); }

    [[nodiscard]] flow_run& common() noexcept { return common_; }
    [[nodiscard]] const flow_run& common() const noexcept { return common_; }
    [[nodiscard]] bool has_coroutines() const noexcept { return has_coroutines_; }
    [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }

    [[nodiscard]] graph_node& add(std::unique_ptr<graph_node> fresh);
    static void connect(graph_node& earlier, graph_node& later);
    [[nodiscard]] std::string diagram(std::string_view name) const;

    [[nodiscard]] future<bool> start(any_executor where, const std::stop_token& stop,
                                     flow_run::waiting_call* caller);

    /// Runs a node that may begin, and the nodes after it. The run may end in this call.
    void drive(graph_node& node) noexcept;
    /// Continues the run after a node that has ended. The run may end in this call.
    void continue_after(graph_node& ended, std::size_t choice) noexcept;

private:
    void prepare();
    void refuse_cycles() const;
    void reset() noexcept;
    [[nodiscard]] bool call(graph_node& node, std::size_t& choice) noexcept;
    [[nodiscard]] static bool begin(graph_node& node) noexcept;
    [[nodiscard]] graph_node* complete(graph_node& node, std::size_t choice, graph_node*& list) noexcept;
    [[nodiscard]] graph_node* complete_with_conditions(graph_node& node, std::size_t choice,
                                                       graph_node*& list) noexcept;
    void give(graph_node& node, graph_node*& list) noexcept;
    void give_all(graph_node* ready, graph_node*& list) noexcept;
    void give_inside(graph_node& node, graph_node*& list) noexcept;
    void continue_with(graph_node* node, std::size_t choice, graph_node* list) noexcept;

    std::vector<std::unique_ptr<graph_node>> nodes_;
    bool has_coroutines_ = false;
    bool is_changed_ = false; // since the last prepare()
    bool has_conditions_ = false;
    bool is_to_reset_ = false;       // the last run may have left counters that are not in their first state
    std::vector<graph_node*> roots_; // the nodes without incoming edges
    std::size_t sinks_ = 0;          // the number of nodes without outgoing edges
    flow_run common_{"task_graph"};
    // Without conditions: the sinks that have not ended. With conditions: all begins that have not ended.
    alignas(sys::isolation) sys::atomic<std::size_t> pending_{0};
};

/// A node with its callable.
template <class F, bool IsCondition>
class graph_node_of final : public graph_node {
    static_assert(takes<F>,
                  "ekiden: task_graph: the callable of a node is called without arguments, or with a "
                  "std::stop_token");
    using returned =
        std::remove_cvref_t<decltype(detail::run_call(std::declval<const flow_run&>(), std::declval<F&>()))>;
    using result = typename awaited_value<returned>::type;
    static_assert(!IsCondition || std::integral<result>,
                  "ekiden: task_graph: the callable of a condition returns a bool or another integer, or a "
                  "coroutine of it");

public:
    template <class G>
    graph_node_of(std::string name, G&& f)
        : graph_node(std::move(name), IsCondition, is_awaited<returned>, &answer, &call),
          f_(std::forward<G>(f)) {}

private:
    static const char* answer(task* base, task_request request) {
        if (request == task_request::describe) return type_description<F>();
        run_as_task(*static_cast<graph_node_of*>(base), request);
        return nullptr;
    }

    static bool call(graph_node& base, graph_run& run, [[maybe_unused]] std::size_t& choice) {
        auto& self = static_cast<graph_node_of&>(base);
        if constexpr (is_awaited<returned>) {
            const node_done done{&run, &self, IsCondition ? &self.choice_ : nullptr};
            detail::begin_coroutine(run.common(), done, self.f_);
            return false;
        } else if constexpr (IsCondition) {
            choice = static_cast<std::size_t>(detail::run_call(run.common(), self.f_));
        } else {
            static_cast<void>(detail::run_call(run.common(), self.f_));
        }
        return true;
    }

    F f_;
    std::size_t choice_ = no_choice; // of a coroutine
};

} // namespace ekiden::inline EKIDEN_ABI::detail

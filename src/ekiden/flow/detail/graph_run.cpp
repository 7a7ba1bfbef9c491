#include <ekiden/flow/detail/graph_run.hpp>

#include <ekiden/sys/mutant.hpp>

#include <algorithm>
#include <stdexcept>

namespace ekiden::inline EKIDEN_ABI::detail {

// ---- building

graph_node& graph_run::add(std::unique_ptr<graph_node> fresh) {
    common_.expect_idle();
    graph_node& node = *fresh;
    node.owner_ = this;
    node.number_ = nodes_.size();
    if (node.name_.empty()) node.name_ = "node " + std::to_string(node.number_);
    nodes_.push_back(std::move(fresh));
    has_coroutines_ |= node.is_coroutine_;
    is_changed_ = true;
    return node;
}

void graph_run::connect(graph_node& earlier, graph_node& later) {
    graph_run& run = *earlier.owner_;
    if (&run != later.owner_)
        throw std::invalid_argument("task_graph: the nodes " + earlier.name_ + " and " + later.name_
                                    + " belong to different graphs");
    run.common_.expect_idle();
    earlier.next_.push_back(&later);
    run.is_changed_ = true;
}

void graph_run::prepare() {
    for (const auto& node : nodes_) node->strong_ = 0;
    roots_.clear();
    sinks_ = 0;
    has_conditions_ = false;
    std::vector<bool> has_weak(nodes_.size());
    for (const auto& node : nodes_) {
        has_conditions_ |= node->is_condition_;
        if (node->next_.empty()) ++sinks_;
        for (graph_node* const later : node->next_) {
            if (node->is_condition_)
                has_weak[later->number_] = true;
            else
                ++later->strong_;
        }
    }
    for (const auto& node : nodes_) {
        if (node->strong_ == 0 && !has_weak[node->number_]) roots_.push_back(node.get());
    }
    refuse_cycles();
    is_to_reset_ = true;
    is_changed_ = false;
}

/// Throws std::invalid_argument if a node can never begin. A node can begin if all nodes before it can begin
/// which are no conditions, or if one condition before it can begin.
void graph_run::refuse_cycles() const {
    std::vector<std::uint64_t> left(nodes_.size());
    std::vector<bool> can_begin(nodes_.size());
    std::vector<graph_node*> ready = roots_;
    for (const auto& node : nodes_) left[node->number_] = node->strong_;
    for (graph_node* const node : ready) can_begin[node->number_] = true;
    while (!ready.empty()) {
        const graph_node& node = *ready.back();
        ready.pop_back();
        for (graph_node* const later : node.next_) {
            const bool begins = node.is_condition_ || --left[later->number_] == 0;
            if (!begins || can_begin[later->number_]) continue;
            can_begin[later->number_] = true;
            ready.push_back(later);
        }
    }
    // Each node that cannot begin has another such node before it. So the way back enters a cycle.
    std::vector<graph_node*> before(nodes_.size(), nullptr);
    graph_node* at = nullptr;
    for (const auto& node : nodes_) {
        if (can_begin[node->number_]) continue;
        at = node.get();
        for (graph_node* const later : node->next_) before[later->number_] = node.get();
    }
    if (at == nullptr) return;
    std::vector<bool> is_seen(nodes_.size());
    for (; !is_seen[at->number_]; at = before[at->number_]) is_seen[at->number_] = true;
    std::vector<graph_node*> cycle{at};
    for (graph_node* node = before[at->number_]; node != at; node = before[node->number_])
        cycle.push_back(node);
    std::string names = at->name_;
    for (auto node = cycle.rbegin(); node != cycle.rend(); ++node) names += " -> " + (*node)->name_;
    throw std::invalid_argument("task_graph: these nodes wait for each other and can never begin: " + names
                                + "; a cycle needs a condition, and a way to enter it");
}

namespace {

std::string in_quotes(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        if (c == '\n')
            result += "\\n";
        else
            result += c;
    }
    return result + '"';
}

} // namespace

std::string graph_run::diagram(std::string_view name) const {
    std::string text = "digraph " + in_quotes(name) + " {\n";
    for (const auto& node : nodes_) {
        text += "  n" + std::to_string(node->number_) + " [label=" + in_quotes(node->name_)
                + (node->is_condition_ ? ", shape=diamond" : "") + "];\n";
    }
    for (const auto& node : nodes_) {
        for (std::size_t i = 0; i != node->next_.size(); ++i) {
            text += "  n" + std::to_string(node->number_) + " -> n" + std::to_string(node->next_[i]->number_);
            if (node->is_condition_) text += " [style=dashed, label=\"" + std::to_string(i) + "\"]";
            text += ";\n";
        }
    }
    return text + "}\n";
}

// ---- running

void graph_run::reset() noexcept {
    for (const auto& node : nodes_) {
        node->edges_.store(has_conditions_ ? 0 : node->strong_, sys::relaxed);
        node->begun_.store(0, sys::relaxed);
    }
    // Without conditions, each run leaves the counters in their first state.
    is_to_reset_ = has_conditions_;
}

future<bool> graph_run::start(any_executor where, const std::stop_token& stop,
                              flow_run::waiting_call* caller) {
    auto result = common_.begin(std::move(where), stop, caller);
    try {
        if (is_changed_) prepare();
    } catch (...) {
        common_.end();
        throw;
    }
    if (is_to_reset_) reset();
    const std::size_t count = roots_.size();
    if (count == 0) {
        common_.end();
        return result;
    }
    pending_.store(has_conditions_ ? count : sinks_, sys::relaxed); // the posts publish this value
    graph_node* list = nullptr;
    ready_nodes ready;
    for (std::size_t i = 0; i + 1 < count; ++i) {
        if (has_conditions_) (void)begin(*roots_[i]);
        ready.add(*roots_[i]);
    }
    give_all(ready.take(), list);
    graph_node& last = *roots_.back();
    if (has_conditions_) (void)begin(last);
    while (list != nullptr) drive(*std::exchange(list, list->next_in_list_)); // a stop was requested already
    if (caller != nullptr && caller->runs_here)
        drive(last);
    else
        common_.post_last(last);
    return result;
}

void graph_node::run_as_task(graph_node& self, task_request request) noexcept {
    graph_run& run = *self.owner_;
    if (request == task_request::abandon) run.common().dropped();
    run.drive(self);
}

void graph_run::drive(graph_node& node) noexcept {
    std::size_t choice = graph_node::no_choice;
    graph_node* list = nullptr; // nodes that may begin, in a run that is over
    if (node.first_inside_ != nullptr) [[unlikely]]
        give_inside(node, list);
    // If the list is not empty, the run is over, and call() returns true.
    if (call(node, choice)) continue_with(&node, choice, list);
}

/// Calls the callable of a node, unless the run is over. Returns false if the callable is a coroutine, which
/// continues the run itself. The run may then have ended.
bool graph_run::call(graph_node& node, std::size_t& choice) noexcept {
    if (common_.is_over()) return true;
    try {
        return node.call_(node, *this, choice);
    } catch (...) {
        common_.fail(std::current_exception());
        return true;
    }
}

void graph_run::continue_after(graph_node& ended, std::size_t choice) noexcept {
    continue_with(&ended, choice, nullptr);
}

/// Continues the run after `node` has ended. `list` contains nodes that may begin, in a run that is over.
void graph_run::continue_with(graph_node* node, std::size_t choice, graph_node* list) noexcept {
    do {
        node = complete(*node, choice, list);
        if (node == nullptr && list != nullptr) {
            node = std::exchange(list, list->next_in_list_);
            give_inside(*node, list);
        }
        choice = graph_node::no_choice;
    } while (node != nullptr && call(*node, choice));
}

/// Lets another task run a node that may begin. The caller must hold another part of the run.
void graph_run::give(graph_node& node, graph_node*& list) noexcept {
    if (common_.is_over()) { // no callable is called any more, so a post would only cost time
        node.next_in_list_ = list;
        list = &node;
    } else {
        common_.post(node);
    }
}

/// Gives all nodes of a list. The caller must hold another part of the run.
void graph_run::give_all(graph_node* ready, graph_node*& list) noexcept {
    while (ready != nullptr) {
        graph_node& node = *ready;
        ready = node.next_in_list_; // before the post, because the node may run at once
        give(node, list);
    }
}

/// Gives the nodes that are inside the tree of `node`. The caller must run `node` afterwards.
void graph_run::give_inside(graph_node& node, graph_node*& list) noexcept {
    give_all(std::exchange(node.first_inside_, nullptr), list);
}

/// Lets the successors of a node begin. Returns one of them, which the caller runs next. The run may end in
/// this call. If the result is null and `list` is empty, the caller holds no part of the run any more.
graph_node* graph_run::complete(graph_node& node, std::size_t choice, graph_node*& list) noexcept {
    if (has_conditions_) return complete_with_conditions(node, choice, list);
    if (node.next_.empty()) {
        // [GR2] Release: publishes what this node did. Acquire: the last node sees what all nodes did.
        if (pending_.fetch_sub(1, sys::acq_rel) == 1) common_.end();
        return nullptr;
    }
    graph_node* kept = nullptr;
    ready_nodes ready;
    const bool is_wide = node.next_.size() > ready_nodes::few;
    for (graph_node* const later : node.next_) {
        // [GR1] Release: publishes what this node did. Acquire: the thread that passes the last edge sees
        // what all nodes before `later` did.
        if (later->edges_.fetch_sub(1, sys::acq_rel) != 1) continue;
        later->edges_.store(later->strong_,
                            sys::relaxed); // for the next run; the end of this run publishes it
        if (kept != nullptr) is_wide ? ready.add(*kept) : give(*kept, list);
        kept = later;
    }
    if (is_wide) give_all(ready.take(), list);
    return kept;
}

/// Counts one more begin of a node. Returns true if the caller must run the node. Otherwise another thread
/// runs the node at the moment, and will run it again.
bool graph_run::begin(graph_node& node) noexcept {
    // [GR3] Release: publishes what the node before did. Acquire: sees what this node did before. Pairs with
    // the decrement in complete_with_conditions().
    return node.begun_.fetch_add(1, sys::acq_rel) == 0 || EKIDEN_MUTANT(graph_runs_a_node_beside_itself);
}

/// As complete(). The counter `pending_` has one for each begin that has not ended. The begin of `node` ends
/// only at the end of this function, because the run must not end before. The last successor that begins
/// takes its place.
graph_node* graph_run::complete_with_conditions(graph_node& node, std::size_t choice,
                                                graph_node*& list) noexcept {
    // [GR3] Release: publishes what the node did, to its next begin. Acquire: sees what the nodes before its
    // next begin did.
    const bool runs_again = node.begun_.fetch_sub(1, sys::acq_rel) > 1;
    graph_node* last = nullptr;
    ready_nodes ready;
    const auto may_begin = [&](graph_node& later) {
        if (last != nullptr) {
            // Before the begin, because the begin may end at once.
            pending_.fetch_add(1, sys::relaxed);
            if (begin(*last)) ready.add(*last);
        }
        last = &later;
    };
    if (common_.is_over()) { // nothing begins any more
    } else if (node.is_condition_) {
        if (choice < node.next_.size()) may_begin(*node.next_[choice]);
    } else {
        for (graph_node* const later : node.next_) {
            // A loop may pass the edges again before `later` has begun, so the counter is never reset in a
            // run. [GR1] As in complete().
            if ((later->edges_.fetch_add(1, sys::acq_rel) + 1) % later->strong_ == 0) may_begin(*later);
        }
    }
    give_all(ready.take(), list);
    if (last != nullptr) {
        if (runs_again) give(node, list);
        return begin(*last) ? last : nullptr;
    }
    // [GR2] As in complete().
    if (pending_.fetch_sub(1, sys::acq_rel) == 1) common_.end();
    return runs_again ? &node : nullptr;
}

void node_done::succeed() const noexcept {
    run->continue_after(*node, choice != nullptr ? *choice : graph_node::no_choice);
}
void node_done::fail(std::exception_ptr error) const noexcept {
    run->common().fail(std::move(error));
    run->continue_after(*node, graph_node::no_choice);
}
void node_done::drop() const noexcept {
    run->common().dropped();
    run->continue_after(*node, graph_node::no_choice);
}

} // namespace ekiden::inline EKIDEN_ABI::detail

#include <ekiden/async/await_chain.hpp>

#include <ekiden/async/detail/coroutine_service.hpp>

#include <mutex>

namespace ekiden::inline EKIDEN_ABI {

std::string await_chain(const coroutine_promise& root) {
    std::string lines;
    for (const coroutine_promise* at = &root; at != nullptr; at = at->child) {
        const std::source_location& where = at->where();
        if (const char* const name = at->env().name) (lines += name) += ": ";
        ((lines += where.function_name()) += " (") += where.file_name();
        (lines += ":") += std::to_string(where.line());
        lines += at->line() == 0 ? "), not begun" : "), at line " + std::to_string(at->line());
        lines += at->env().turns.has_turn(nullptr) ? ", during a turn\n" : "\n";
    }
    return lines;
}

std::string await_chains(execution_context& context) {
    return has_service<detail::coroutine_service>(context)
               ? use_service<detail::coroutine_service>(context).describe()
               : std::string();
}

std::string detail::coroutine_service::describe() {
    std::string all;
    for (shard& each : shards_) {
        const std::lock_guard guard(each.lock);
        for (const root_entry* root = each.first; root != nullptr; root = root->next_)
            all += await_chain(root->root_) + "\n";
    }
    return all;
}

} // namespace ekiden::inline EKIDEN_ABI

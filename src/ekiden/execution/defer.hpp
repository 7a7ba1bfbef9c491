/// Passes a continuation to an executor.
///
/// Part: execution. Used by: programs. Modeled on N4771, 13.23.
#pragma once

#include <ekiden/execution/detail/initiate.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// Runs the handler of `token` later, like post(), as a continuation of the caller. The caller is about to
/// return to its context. So no other thread is woken for the handler, and the handler runs after the tasks
/// that are queued already.
///
/// The handler's associated executor runs it, or the system_executor if it has none. Its associated allocator
/// supplies the memory, which is freed before the call. Returns what the token gives to the caller. Throws
/// what the executor's own function throws; then the handler has not been accepted. A context that accepts no
/// more tasks destroys the handler.
template <class Token>
    requires(!executor<std::decay_t<Token>> && !std::derived_from<std::decay_t<Token>, execution_context>)
decltype(auto) defer(Token&& token) {
    return ekiden::async_initiate<Token, void()>(detail::initiate_by<detail::way::defer>(),
                                                 std::forward<Token>(token));
}

/// Does the same on `first`. If the handler has an executor of its own, `first` then dispatches the handler
/// to that executor.
template <executor Executor, class Token>
decltype(auto) defer(const Executor& first, Token&& token) {
    return ekiden::async_initiate<Token, void()>(detail::initiate_by<detail::way::defer>(),
                                                 std::forward<Token>(token), first);
}

/// Does the same on the executor of `context`.
template <std::derived_from<execution_context> Context, class Token>
decltype(auto) defer(Context& context, Token&& token) {
    return ekiden::defer(context.get_executor(), std::forward<Token>(token));
}

} // namespace ekiden::inline EKIDEN_ABI

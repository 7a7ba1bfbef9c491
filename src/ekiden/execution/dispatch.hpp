/// Passes a function to an executor, which may run it at once.
///
/// Part: execution. Used by: programs. Modeled on N4771, 13.21.
#pragma once

#include <ekiden/execution/detail/initiate.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// Runs the handler of `token`, before dispatch() returns if the executor allows that.
///
/// The handler's associated executor runs it, or the system_executor if it has none. Its associated allocator
/// supplies the memory, which is freed before the call. Returns what the token gives to the caller. Throws
/// what the executor's own function throws; then the handler has not been accepted. A context that accepts no
/// more tasks destroys the handler.
template <class Token>
    requires(!executor<std::decay_t<Token>> && !std::derived_from<std::decay_t<Token>, execution_context>)
decltype(auto) dispatch(Token&& token) {
    return ekiden::async_initiate<Token, void()>(detail::initiate_by<detail::way::dispatch>(),
                                                 std::forward<Token>(token));
}

/// Does the same on `first`. If the handler has an executor of its own, `first` then dispatches the handler
/// to that executor.
template <executor Executor, class Token>
decltype(auto) dispatch(const Executor& first, Token&& token) {
    return ekiden::async_initiate<Token, void()>(detail::initiate_by<detail::way::dispatch>(),
                                                 std::forward<Token>(token), first);
}

/// Does the same on the executor of `context`.
template <std::derived_from<execution_context> Context, class Token>
decltype(auto) dispatch(Context& context, Token&& token) {
    return ekiden::dispatch(context.get_executor(), std::forward<Token>(token));
}

} // namespace ekiden::inline EKIDEN_ABI

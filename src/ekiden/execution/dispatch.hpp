/// Passes a function to an executor, which may run it at once.
///
/// Part: execution. Used by: programs. Modeled on section 13.21 of the Networking TS (N4771).
#pragma once

#include <ekiden/execution/detail/initiate.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// Runs the handler of `token`. If the executor allows it, the handler runs before dispatch() returns.
///
/// The associated executor of the handler runs the handler. If the handler has no associated executor, the
/// system_executor runs it. If dispatch() needs memory, the associated allocator of the handler supplies this
/// memory. The memory is freed before the handler is called. Returns the result that `token` determines, such
/// as a future. Throws whatever dispatch() of the executor throws. If dispatch() throws, the executor has not
/// accepted the handler. A context that accepts no more tasks destroys the handler.
template <class Token>
    requires(!executor<std::decay_t<Token>> && !std::derived_from<std::decay_t<Token>, execution_context>)
decltype(auto) dispatch(Token&& token) {
    return ekiden::async_initiate<Token, void()>(detail::initiate_by<detail::way::dispatch>(),
                                                 std::forward<Token>(token));
}

/// Passes the handler to `first`, like dispatch(token). If the handler has an associated executor, `first`
/// then dispatches the handler to that executor.
template <executor Executor, class Token>
decltype(auto) dispatch(const Executor& first, Token&& token) {
    return ekiden::async_initiate<Token, void()>(detail::initiate_by<detail::way::dispatch>(),
                                                 std::forward<Token>(token), first);
}

/// Calls dispatch() with the executor of `context`.
template <std::derived_from<execution_context> Context, class Token>
decltype(auto) dispatch(Context& context, Token&& token) {
    return ekiden::dispatch(context.get_executor(), std::forward<Token>(token));
}

} // namespace ekiden::inline EKIDEN_ABI

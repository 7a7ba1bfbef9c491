/// Passes a function to an executor, which runs it later.
///
/// Part: execution. Used by: programs. Modeled on section 13.22 of the Networking TS (N4771).
#pragma once

#include <ekiden/execution/detail/initiate.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// Runs the handler of `token` later. post() itself never calls the handler.
///
/// The associated executor of the handler runs the handler. If the handler has no associated executor, the
/// system_executor runs it. The associated allocator of the handler supplies the memory for the post. This
/// memory is freed before the handler is called. Returns the result that `token` determines, such as a
/// future. Throws whatever post() of the executor throws. If post() throws, the executor has not accepted the
/// handler. A context that accepts no more tasks destroys the handler.
template <class Token>
    requires(!executor<std::decay_t<Token>> && !std::derived_from<std::decay_t<Token>, execution_context>)
decltype(auto) post(Token&& token) {
    return ekiden::async_initiate<Token, void()>(detail::initiate_by<detail::way::post>(),
                                                 std::forward<Token>(token));
}

/// Passes the handler to `first`, like post(token). If the handler has an associated executor, `first` then
/// dispatches the handler to that executor.
template <executor Executor, class Token>
decltype(auto) post(const Executor& first, Token&& token) {
    return ekiden::async_initiate<Token, void()>(detail::initiate_by<detail::way::post>(),
                                                 std::forward<Token>(token), first);
}

/// Calls post() with the executor of `context`.
template <std::derived_from<execution_context> Context, class Token>
decltype(auto) post(Context& context, Token&& token) {
    return ekiden::post(context.get_executor(), std::forward<Token>(token));
}

} // namespace ekiden::inline EKIDEN_ABI

/// Gives a function to an executor, to be run later.
///
/// Part: execution. Used by: programs. After N4771, 13.22.
#pragma once

#include <ekiden/execution/detail/initiate.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// Has the handler of `token` called later, never before this returns: by the executor that the handler is
/// associated with. Without one, by the
/// system_executor. The memory for it comes from its associated allocator and is given back before the call.
/// Returns what the token wants; throws what the executor's own function throws, and nothing has been
/// accepted then. A context that takes no more destroys the handler.
template <class Token>
    requires(!executor<std::decay_t<Token>> && !std::derived_from<std::decay_t<Token>, execution_context>)
decltype(auto) post(Token&& token) {
    return ekiden::async_initiate<Token, void()>(detail::initiate_by<detail::by_post>(),
                                                 std::forward<Token>(token));
}

/// The same by `first`; if the handler has an executor of its own, `first` then dispatches it to that.
template <executor Executor, class Token>
decltype(auto) post(const Executor& first, Token&& token) {
    return ekiden::async_initiate<Token, void()>(detail::initiate_by<detail::by_post>(),
                                                 std::forward<Token>(token), first);
}

/// The same by the executor of `context`.
template <std::derived_from<execution_context> Context, class Token>
decltype(auto) post(Context& context, Token&& token) {
    return ekiden::post(context.get_executor(), std::forward<Token>(token));
}

} // namespace ekiden::inline EKIDEN_ABI

/// Gives a continuation to an executor.
///
/// Part: execution. Used by: programs. After N4771, 13.23.
#pragma once

#include <ekiden/execution/detail/initiate.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// As post(); and the caller says that it is about to return to its context: no other thread is woken for the
/// handler, which comes behind what waits already. By the executor that the handler is associated with.
/// Without one, by the system_executor. The memory for it comes from its associated allocator and is given
/// back before the call. Returns what the token wants; throws what the executor's own function throws, and
/// nothing has been accepted then. A context that takes no more destroys the handler.
template <class Token>
    requires(!executor<std::decay_t<Token>> && !std::derived_from<std::decay_t<Token>, execution_context>)
decltype(auto) defer(Token&& token) {
    return ekiden::async_initiate<Token, void()>(detail::initiate_by<detail::by_defer>(),
                                                 std::forward<Token>(token));
}

/// The same by `first`; if the handler has an executor of its own, `first` then dispatches it to that.
template <executor Executor, class Token>
decltype(auto) defer(const Executor& first, Token&& token) {
    return ekiden::async_initiate<Token, void()>(detail::initiate_by<detail::by_defer>(),
                                                 std::forward<Token>(token), first);
}

/// The same by the executor of `context`.
template <std::derived_from<execution_context> Context, class Token>
decltype(auto) defer(Context& context, Token&& token) {
    return ekiden::defer(context.get_executor(), std::forward<Token>(token));
}

} // namespace ekiden::inline EKIDEN_ABI

/// Gives a function to an executor, to be run at once if that lets it.
///
/// Part: execution. Used by: programs. After N4771, 13.21.
#pragma once

#include <ekiden/execution/detail/initiate.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// Has the handler of `token` called, before this returns if that is allowed: by the executor that the
/// handler is associated with. Without one, by the system_executor. The memory for it comes from its
/// associated allocator and is given back before the call. Returns what the token wants; throws what the
/// executor's own function throws, and nothing has been accepted then. A context that takes no more destroys
/// the handler.
template <class Token>
    requires(!executor<std::decay_t<Token>> && !std::derived_from<std::decay_t<Token>, execution_context>)
decltype(auto) dispatch(Token&& token) {
    return ekiden::async_initiate<Token, void()>(detail::initiate_by<detail::by_dispatch>(),
                                                 std::forward<Token>(token));
}

/// The same by `first`; if the handler has an executor of its own, `first` then dispatches it to that.
template <executor Executor, class Token>
decltype(auto) dispatch(const Executor& first, Token&& token) {
    return ekiden::async_initiate<Token, void()>(detail::initiate_by<detail::by_dispatch>(),
                                                 std::forward<Token>(token), first);
}

/// The same by the executor of `context`.
template <std::derived_from<execution_context> Context, class Token>
decltype(auto) dispatch(Context& context, Token&& token) {
    return ekiden::dispatch(context.get_executor(), std::forward<Token>(token));
}

} // namespace ekiden::inline EKIDEN_ABI

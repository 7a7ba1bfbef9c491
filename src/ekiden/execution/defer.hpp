/// Passes a continuation to an executor.
///
/// Part: execution. Used by: programs. Modeled on section 13.23 of the Networking TS (N4771).
#pragma once

#include <ekiden/execution/detail/initiate.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// Runs the handler of `token` later, like post(), as a continuation of the calling task. Call defer() if the
/// calling task is about to return. No other thread is woken for the handler before the calling task returns,
/// sleeps or blocks. The handler runs after the tasks that are already queued.
///
/// The associated executor of the handler runs the handler. If the handler has no associated executor, the
/// system_executor runs it. The associated allocator of the handler supplies the memory for the call of
/// defer(). This memory is freed before the handler is called. Returns the result that `token` determines,
/// such as a future. Throws whatever defer() of the executor throws. If defer() throws, the executor has not
/// accepted the handler. A context that accepts no more tasks destroys the handler.
template <class Token>
    requires(!executor<std::decay_t<Token>> && !std::derived_from<std::decay_t<Token>, execution_context>)
decltype(auto) defer(Token&& token) {
    return ekiden::async_initiate<Token, void()>(detail::initiate_by<detail::way::defer>(),
                                                 std::forward<Token>(token));
}

/// Passes the handler to `first`, like defer(token). If the handler has an associated executor, `first` then
/// dispatches the handler to that executor.
template <executor Executor, class Token>
decltype(auto) defer(const Executor& first, Token&& token) {
    return ekiden::async_initiate<Token, void()>(detail::initiate_by<detail::way::defer>(),
                                                 std::forward<Token>(token), first);
}

/// Calls defer() with the executor of `context`.
template <std::derived_from<execution_context> Context, class Token>
decltype(auto) defer(Context& context, Token&& token) {
    return ekiden::defer(context.get_executor(), std::forward<Token>(token));
}

} // namespace ekiden::inline EKIDEN_ABI

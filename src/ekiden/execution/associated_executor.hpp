/// Which executor a handler wants to run on.
///
/// Part: execution. Used by: programs that write handlers, operations that end by calling a handler. A point
/// to plug in types of one's own: give them a member `executor_type` and get_executor(), or specialise. After
/// N4771, 13.12 and 13.13.
#pragma once

#include <ekiden/execution/executor.hpp>
#include <ekiden/execution/system_executor.hpp>

#include <concepts>
#include <functional>

namespace ekiden::inline EKIDEN_ABI {

/// `type` is the executor's type, and get(t, e) the executor: t's own, if T has an `executor_type`, and else
/// `e`.
template <class T, class Executor = system_executor>
struct associated_executor {
    using type = Executor;
    [[nodiscard]] static const Executor& get(const T&, const Executor& otherwise) noexcept {
        return otherwise;
    }
    [[nodiscard]] static Executor get(const T&) noexcept { return Executor(); }
};

template <class T, class Executor>
    requires requires { typename T::executor_type; }
struct associated_executor<T, Executor> {
    using type = typename T::executor_type;
    [[nodiscard]] static decltype(auto) get(const T& t, const Executor& = Executor()) noexcept {
        return t.get_executor();
    }
};

template <class T, class Executor>
struct associated_executor<std::reference_wrapper<T>, Executor> : associated_executor<T, Executor> {};

/// The type of it.
template <class T, class Executor = system_executor>
using associated_executor_t = typename associated_executor<T, Executor>::type;

namespace detail {

struct associated_executor_function {
    template <class T>
    [[nodiscard]] decltype(auto) operator()(const T& t) const noexcept {
        return associated_executor<T>::get(t);
    }
    template <class T, executor Executor>
    [[nodiscard]] decltype(auto) operator()(const T& t, const Executor& otherwise) const noexcept {
        return associated_executor<T, Executor>::get(t, otherwise);
    }
    template <class T, std::derived_from<execution_context> Context>
    [[nodiscard]] auto operator()(const T& t, Context& context) const noexcept {
        return associated_executor<T, typename Context::executor_type>::get(t, context.get_executor());
    }
};

} // namespace detail

/// `get_associated_executor(t)` is the executor that `t` is associated with; `get_associated_executor(t, e)`
/// is `e`, or the executor of the context `e`, if `t` has none of its own. It may be a reference to a part of
/// `t` or to `e`. An object that is called, so that an unqualified call in another library, such as Asio,
/// does not find it by the types of its arguments.
inline constexpr detail::associated_executor_function get_associated_executor{};

} // namespace ekiden::inline EKIDEN_ABI

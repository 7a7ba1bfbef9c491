/// The executor on which a handler runs.
///
/// Part: execution. Used by: programs that write handlers, and operations that call handlers. A type is
/// associated with an executor if it has the members `executor_type` and get_executor(), or if the program
/// specializes the template associated_executor for the type. Modeled on sections 13.12 and 13.13 of the
/// Networking TS (N4771).
#pragma once

#include <ekiden/execution/executor.hpp>
#include <ekiden/execution/system_executor.hpp>

#include <concepts>
#include <functional>

namespace ekiden::inline EKIDEN_ABI {

/// Associates an executor with an object of type T. `type` is the type of the executor, and get(t, e) returns
/// the executor. If T has a member `executor_type`, get(t, e) returns t.get_executor(). If T has no such
/// member, get(t, e) returns `e`.
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

/// The type of the executor that is associated with an object of type T.
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

/// `get_associated_executor(t)` returns the executor that is associated with `t`. If `t` has no executor of
/// its own, `get_associated_executor(t, e)` returns `e`, or the executor of `e` if `e` is a context. The
/// result may be a reference to a part of `t`, or to `e`. The name denotes a function object. So an
/// unqualified call in another library, such as Asio, does not find this name by argument-dependent lookup.
inline constexpr detail::associated_executor_function get_associated_executor{};

} // namespace ekiden::inline EKIDEN_ABI

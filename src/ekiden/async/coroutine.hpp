/// Coroutines are functions that can wait without blocking a thread.
///
/// Part: async. Used by: programs. Modeled on the class task<T> of Lewis Baker's library cppcoro. In
/// addition, a coroutine inherits an environment from the coroutine that awaits it.
#pragma once

#include <ekiden/async/detail/await_in_place.hpp>
#include <ekiden/async/detail/coroutine_promise.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/contract.hpp>

#include <coroutine>
#include <exception>
#include <memory>
#include <new>
#include <source_location>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

template <class T>
class coroutine;

namespace detail {

/// The outcome of a coroutine: a value, a reference, nothing, or an exception.
template <class T>
class coroutine_result {
    static_assert(
        std::is_void_v<T> || std::is_reference_v<T> || (std::is_object_v<T> && !std::is_array_v<T>),
        "ekiden: the result of a coroutine is void, a reference, or an object type that is no array");
    struct nothing {};
    using stored = std::conditional_t<
        std::is_void_v<T>, nothing,
        std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, std::remove_cv_t<T>>>;
    static_assert(alignof(stored) <= 2 * sizeof(void*),
                  "ekiden: the frame of a coroutine cannot hold a result of such an alignment; return it by "
                  "std::unique_ptr");

public:
    coroutine_result() noexcept {}
    ~coroutine_result() {
        if (has_ == has::value)
            value_.~stored();
        else if (has_ == has::error)
            error_.~exception_ptr();
    }
    coroutine_result(const coroutine_result&) = delete;
    coroutine_result& operator=(const coroutine_result&) = delete;

    template <class... Args>
    void set_value(Args&&... args) {
        if constexpr (std::is_reference_v<T>)
            ::new (static_cast<void*>(std::addressof(value_))) stored(std::addressof(args)...);
        else
            ::new (static_cast<void*>(std::addressof(value_))) stored(std::forward<Args>(args)...);
        has_ = has::value;
    }
    void set_error(std::exception_ptr error) noexcept {
        if (has_ == has::value) value_.~stored(); // a destructor has thrown after co_return
        ::new (static_cast<void*>(std::addressof(error_))) std::exception_ptr(std::move(error));
        has_ = has::error;
    }

    /// Returns the result, or rethrows the exception. Call take() only once, after the coroutine has ended.
    T take() {
        if (has_ == has::error) std::rethrow_exception(take_error());
        if constexpr (std::is_reference_v<T>)
            return static_cast<T>(*value_);
        else if constexpr (!std::is_void_v<T>)
            return std::move(value_);
    }

    [[nodiscard]] bool is_error() const noexcept { return has_ == has::error; }
    /// Moves the exception out of this object, which then has no reference to the exception. If this object
    /// kept a reference, another thread could destroy the exception later.
    [[nodiscard]] std::exception_ptr take_error() noexcept { return std::exchange(error_, nullptr); }

private:
    enum class has : std::uint8_t { none, value, error };
    union {
        stored value_;
        std::exception_ptr error_;
    };
    has has_ = has::none;
};

template <class T>
class coroutine_promise_of;

/// The part of a promise that does not depend on whether the coroutine has a result.
template <class T>
class coroutine_promise_with : public coroutine_promise {
public:
    explicit coroutine_promise_with(std::source_location where) noexcept : coroutine_promise(where) {}

    [[nodiscard]] coroutine<T> get_return_object() noexcept;
    static final_awaiter final_suspend() noexcept { return {}; }
    [[nodiscard]] std::coroutine_handle<> ended() noexcept { return detail::end_of(*this); }
    void unhandled_exception() noexcept { result.set_error(std::current_exception()); }

    coroutine_result<T> result;
};

template <class T>
class coroutine_promise_of : public coroutine_promise_with<T> {
public:
    explicit coroutine_promise_of(std::source_location where = std::source_location::current()) noexcept
        : coroutine_promise_with<T>(where) {}

    template <class U = T>
        requires std::constructible_from<T, U>
    void return_value(U&& value) noexcept(std::is_nothrow_constructible_v<T, U>) {
        this->result.set_value(std::forward<U>(value));
    }
};

template <>
class coroutine_promise_of<void> : public coroutine_promise_with<void> {
public:
    explicit coroutine_promise_of(std::source_location where = std::source_location::current()) noexcept
        : coroutine_promise_with(where) {}

    void return_void() noexcept { result.set_value(); }
};

/// Begins a coroutine of ekiden that a coroutine of another library awaits. Runs the awaited coroutine in
/// this thread, up to its first wait. Returns true if the awaited coroutine has ended. The awaiting coroutine
/// must then not be suspended, because no thread would resume it.
[[nodiscard]] bool run_for_foreign(const await_link& link) noexcept;

/// The awaiter of a coroutine. The awaiter begins the awaited coroutine, waits until that coroutine has
/// ended, and destroys the frame of that coroutine.
template <class T>
class [[nodiscard]] coroutine_awaiter {
    using promise_type = coroutine_promise_of<T>;

public:
    static constexpr bool transfers = true;

    explicit coroutine_awaiter(std::coroutine_handle<promise_type> child) noexcept : link_(child) {}

    [[nodiscard]] static bool await_ready() noexcept { return false; }

    template <class Promise>
    [[nodiscard]] auto await_suspend(std::coroutine_handle<Promise> waiting) noexcept {
        promise_type& child = this->child();
        child.link = &link_;
        link_.waiting = waiting;
        if constexpr (std::derived_from<Promise, coroutine_promise>) {
            link_.parent = &waiting.promise();
            link_.parent->child = &child;
            child.work_under(link_.parent->env());
            return detail::transfer_counted(child);
        } else {
            child.work_under(default_environment());
            return !run_for_foreign(link_);
        }
    }

    T await_resume() { return child().result.take(); }

private:
    [[nodiscard]] promise_type& child() noexcept {
        return std::coroutine_handle<promise_type>::from_address(link_.child.address()).promise();
    }

    await_link link_;
};

} // namespace detail

/// A lazy coroutine with a result of type T.
///
/// A coroutine begins when another coroutine awaits it by `co_await std::move(c)` or `co_await f()`. The
/// awaited coroutine runs on the executor of the awaiting coroutine, and inherits the environment of that
/// coroutine. The await returns the result of the coroutine or throws its exception. A coroutine can be
/// awaited only once. A coroutine that is never awaited does not run, and its parameters are destroyed with
/// the coroutine object.
///
/// T is void, a reference, or an object type. The object type may be move-only. Thread safety: only one
/// thread at a time may use the object.
///
/// Lifetime: if a parameter is a reference, the referenced object must outlive the coroutine. If a lambda is
/// a coroutine, the captures of the lambda must outlive the coroutine. Until the coroutine has ended,
/// co_spawn() stores the lambda that was passed to it.
///
/// The frame of a coroutine lies in memory that the library recycles. If the first parameters of the function
/// are (std::allocator_arg_t, const Allocator&), this allocator allocates the frame. In `co_await f()`, clang
/// 20 and newer may place the frame of f in the frame of the awaiting coroutine, without an allocation.
template <class T = void>
class [[nodiscard]] EKIDEN_AWAIT_ELIDABLE coroutine {
public:
    using promise_type = detail::coroutine_promise_of<T>;

    coroutine(coroutine&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    coroutine& operator=(coroutine&& other) noexcept {
        coroutine(std::move(other)).swap(*this);
        return *this;
    }
    ~coroutine() {
        if (handle_) handle_.destroy();
    }
    void swap(coroutine& other) noexcept { std::swap(handle_, other.handle_); }

    /// Returns whether the coroutine can be awaited. Returns false after an await or a move.
    [[nodiscard]] bool valid() const noexcept { return static_cast<bool>(handle_); }

    [[nodiscard]] detail::coroutine_awaiter<T> operator co_await() && noexcept {
        sys::expects(valid(),
                     "co_await: the coroutine has been awaited or moved from before; each is awaited once");
        return detail::coroutine_awaiter<T>(std::exchange(handle_, nullptr));
    }

private:
    friend detail::coroutine_promise_with<T>;
    explicit coroutine(std::coroutine_handle<promise_type> fresh) noexcept : handle_(fresh) {}

    std::coroutine_handle<promise_type> handle_;
};

template <class T>
coroutine<T> detail::coroutine_promise_with<T>::get_return_object() noexcept {
    auto& whole = static_cast<coroutine_promise_of<T>&>(*this);
    return coroutine<T>(std::coroutine_handle<coroutine_promise_of<T>>::from_promise(whole));
}

template <class T>
inline constexpr bool detail::begins_when_awaited<coroutine<T>> = true;

} // namespace ekiden::inline EKIDEN_ABI

// A coroutine whose first parameters are (std::allocator_arg_t, const Allocator&) has a promise type of its
// own. If the coroutine is a member function, the object parameter comes before these parameters. So the
// frames of all other coroutines need no room for an allocator.
template <class T, class Allocator, class... Args>
struct std::coroutine_traits<ekiden::coroutine<T>, std::allocator_arg_t, Allocator, Args...> {
    using promise_type = ekiden::detail::allocated_frame<ekiden::detail::coroutine_promise_of<T>,
                                                         std::remove_cvref_t<Allocator>>;
};
template <class T, class Object, class Allocator, class... Args>
struct std::coroutine_traits<ekiden::coroutine<T>, Object, std::allocator_arg_t, Allocator, Args...> {
    using promise_type = ekiden::detail::allocated_frame<ekiden::detail::coroutine_promise_of<T>,
                                                         std::remove_cvref_t<Allocator>>;
};

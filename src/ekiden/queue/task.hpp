/// The unit that queues contain: a function pointer, one word for the queue, and a callable in the same cache
/// line.
///
/// Part: queue. Used by: adapter, async, execution, fork, future, lanes, loop, pool, queue, sim, timer.
#pragma once

#include <ekiden/queue/recycler.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/config.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <new>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A request to a task. Each task gets exactly one of the requests `run` and `abandon`. Both requests destroy
/// the task.
enum class task_request : std::uint8_t {
    run,      ///< calls the callable; an exception of the callable propagates
    abandon,  ///< destroys the callable without calling it; a future of the task reports operation_canceled
    describe, ///< returns the name of the callable's type, even if the task is already destroyed
    cancel,   ///< destroys the callable of a task with a future; the task stays in its queue
    dispose,  ///< frees a task with a future, because no reference to the task exists
};

/// A unit of work in a queue. A task is created by make_task(), or together with a future. The thread that
/// takes a task from a queue runs or abandons the task. A task is not thread-safe, because it belongs to one
/// thread at a time.
class task {
public:
    /// Serves a request. For the request `describe`, the function does not use `self`, and the result
    /// contains the name of the callable's type. For all other requests the result is null.
    using function = const char* (*)(task* self, task_request request);

    explicit task(function answer) noexcept : queued_at(0), answer_(answer) {}
    task(const task&) = delete;
    task& operator=(const task&) = delete;

    /// Calls the callable. An exception of the callable propagates. The task is destroyed, even if the
    /// callable throws.
    void run() { answer_(this, task_request::run); }

    /// Destroys the task without calling the callable. The callable's destructor must not throw.
    void abandon() noexcept { answer_(this, task_request::abandon); }

    /// Returns the function that serves the requests to this type of task. The caller may use the function
    /// even after the task is destroyed.
    [[nodiscard]] function type() const noexcept { return answer_; }

protected:
    ~task() {} // if the task was in a list, end_link() has destroyed `next`

public:
    /// Creates `next` with the value null. Called before the task is added to a list. After the task has been
    /// removed from the list, end_link() destroys `next` and makes `queued_at` usable again.
    void begin_link() noexcept {
        ::new (static_cast<void*>(std::addressof(next))) sys::atomic<task*>(nullptr);
    }
    void end_link() noexcept {
        std::destroy_at(std::addressof(next));
        queued_at = 0;
    }

    /// One word, which the queue that contains the task may use.
    union {
        std::uint64_t queued_at; ///< A queue that measures delays stores the time of the push here, or 0.
        /// The next task in a list that other threads read while the list grows. `next` exists while the task
        /// is in the list.
        sys::atomic<task*> next;
    };

private:
    function answer_;
};

/// Returns a text that contains the name of type T in the notation of the compiler.
template <class T>
[[nodiscard]] constexpr const char* type_description() noexcept {
    return std::source_location::current().function_name();
}

/// Returns the type name that is part of `description`, a text from type_description().
[[nodiscard]] std::string_view described_type(const char* description) noexcept;

template <class Allocator>
inline constexpr bool is_std_allocator = false;
template <class T>
inline constexpr bool is_std_allocator<std::allocator<T>> = true;

/// A type of callables that can be empty: a type such as std::function, or a pointer to a function or member.
template <class F>
concept nullable_callable = std::is_pointer_v<F> || std::is_member_pointer_v<F> || requires(const F& f) {
    { f.operator bool() } -> std::same_as<bool>;
};

/// Throws std::invalid_argument if `f` is an empty callable. `where` names the operation in the message.
template <class F>
void refuse_empty(const F& f, const char* where) {
    if constexpr (nullable_callable<F>) {
        if (!static_cast<bool>(f)) {
            throw std::invalid_argument(std::string(where)
                                        + ": the callable is empty, allowed is one that can be called");
        }
    }
}

namespace detail {

/// Whether a function that returns `R` begins only when the result is awaited. A task drops the result of its
/// callable, so such a function would never run.
template <class R>
inline constexpr bool begins_when_awaited = false;

} // namespace detail

/// A task that calls `F` with no arguments, in a recycled node.
template <class F>
class callable_task final : public task {
public:
    explicit callable_task(F&& f) : task(&answer), f_(std::move(f)) {}
    explicit callable_task(const F& f) : task(&answer), f_(f) {}

private:
    static const char* answer(task* base, task_request request) {
        if (request == task_request::describe) return type_description<F>();
        auto* const self = static_cast<callable_task*>(base);
        if (request == task_request::abandon) {
            recycler::destroy(self);
        } else if constexpr (std::is_nothrow_move_constructible_v<F>) {
            // Frees the memory before the call, so that the callable can reuse the memory for tasks that it
            // posts.
            F f(std::move(self->f_));
            recycler::destroy(self);
            static_cast<void>(f());
        } else {
            struct end {
                callable_task* self;
                ~end() { recycler::destroy(self); }
            } guard{self};
            static_cast<void>(self->f_());
        }
        return nullptr;
    }

    F f_;
};

/// A task that calls `F` with no arguments, in memory of a user's allocator.
template <class F, class Allocator>
class allocated_task final : public task {
public:
    template <class G>
    allocated_task(G&& f, const Allocator& allocator)
        : task(&answer), f_(std::forward<G>(f)), allocator_(allocator) {}

    template <class G>
    [[nodiscard]] static task* make(G&& f, const Allocator& given) {
        own_allocator allocator(given);
        const auto memory = own_traits::allocate(allocator, 1);
        try {
            return ::new (static_cast<void*>(std::to_address(memory)))
                allocated_task(std::forward<G>(f), given);
        } catch (...) {
            own_traits::deallocate(allocator, memory, 1);
            throw;
        }
    }

private:
    using own_traits = typename std::allocator_traits<Allocator>::template rebind_traits<allocated_task>;
    using own_allocator = typename own_traits::allocator_type;

    static const char* answer(task* base, task_request request) {
        if (request == task_request::describe) return type_description<F>();
        auto* const self = static_cast<allocated_task*>(base);
        if (request == task_request::abandon) {
            self->end();
            return nullptr;
        }
        struct guard {
            allocated_task* self;
            ~guard() {
                if (self != nullptr) self->end();
            }
        } memory{self}; // frees the memory if the move of the callable throws
        F f(std::move(self->f_));
        std::exchange(memory.self, nullptr)->end();
        static_cast<void>(f());
        return nullptr;
    }

    void end() noexcept {
        own_allocator allocator(std::move(allocator_));
        const auto memory = std::pointer_traits<typename own_traits::pointer>::pointer_to(*this);
        this->~allocated_task();
        own_traits::deallocate(allocator, memory, 1);
    }

    F f_;
    [[no_unique_address]] Allocator allocator_;
};

/// Makes a task that calls a copy of `f`. A callable of up to 48 bytes shares the task's cache line. A
/// callable of up to 240 bytes is stored in a larger recycled node. The memory for a larger callable comes
/// from operator new. Throws std::bad_alloc, std::invalid_argument for an empty callable, and whatever
/// copying `f` throws. A call that throws has no effect.
template <class F>
[[nodiscard]] task* make_task(F&& f, const char* where = "make_task") {
    using callable = std::decay_t<F>;
    static_assert(std::invocable<callable&>, "a task's callable takes no arguments");
    ekiden::refuse_empty<callable>(f, where);
    return recycler::create<callable_task<callable>>(std::forward<F>(f));
}

/// Makes a task in memory from `allocator`. The memory is freed before the callable is called. With a
/// std::allocator, the memory comes from the recycler. Throws whatever the other overload of make_task()
/// throws, and whatever the allocator throws.
template <class F, class Allocator>
[[nodiscard]] task* make_task(F&& f, const Allocator& allocator, const char* where) {
    if constexpr (is_std_allocator<Allocator>) {
        return ekiden::make_task(std::forward<F>(f), where);
    } else {
        using callable = std::decay_t<F>;
        static_assert(std::invocable<callable&>, "a task's callable takes no arguments");
        ekiden::refuse_empty<callable>(f, where);
        return allocated_task<callable, Allocator>::make(std::forward<F>(f), allocator);
    }
}

/// A callable that owns a task, so that other queues can contain the task. A call of the callable runs the
/// task. The destructor abandons a task that has not run.
class owned_task {
public:
    /// Takes ownership of `owned`.
    explicit owned_task(task* owned) noexcept : task_(owned) {}
    owned_task(owned_task&& other) noexcept : task_(std::exchange(other.task_, nullptr)) {}
    owned_task& operator=(owned_task&& other) noexcept {
        std::swap(task_, other.task_);
        return *this;
    }
    ~owned_task() {
        if (task_ != nullptr) task_->abandon();
    }

    /// Runs the task. Called once.
    void operator()() { std::exchange(task_, nullptr)->run(); }

    /// Returns the task, which the caller owns now.
    [[nodiscard]] task* release() noexcept { return std::exchange(task_, nullptr); }

private:
    task* task_;
};

} // namespace ekiden::inline EKIDEN_ABI

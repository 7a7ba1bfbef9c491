/// The queued unit: a function pointer, one word for whoever queues it, and a callable in the same cache
/// line.
///
/// Part: queue. Used by: every queue, the pool, the executors.
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

/// What a task is asked to do. Each task is asked `run` or `abandon` exactly once; it is gone afterwards.
enum class task_request : std::uint8_t {
    run,      ///< call the callable; its exception passes through
    abandon,  ///< destroy the callable without calling it; a result, if any, reports operation_canceled
    describe, ///< say what the task is; nothing changes, and the task may be gone already
    cancel,   ///< of a task with a future: destroy the callable now; the task stays where it is queued
    dispose,  ///< of a task with a future: nobody refers to it any more, free it
};

/// A unit of work in a queue. Made by make_task() or with a future; whoever takes it out of a queue asks it
/// to run or to abandon. Not thread-safe: a task belongs to one thread at a time.
class task {
public:
    /// Answers a request. The result is the name of the callable's type for `describe` (then `self` is not
    /// used), and null otherwise.
    using function = const char* (*)(task* self, task_request request);

    explicit task(function answer) noexcept : queued_at(0), answer_(answer) {}
    task(const task&) = delete;
    task& operator=(const task&) = delete;

    /// Calls the callable. An exception passes through; the task is gone in any case.
    void run() { answer_(this, task_request::run); }

    /// Ends the task without calling the callable. Destructors of the callable must not throw.
    void abandon() noexcept { answer_(this, task_request::abandon); }

    /// Answers requests for this type of task, also when the task itself is gone.
    [[nodiscard]] function type() const noexcept { return answer_; }

protected:
    ~task() {} // `next` has ended: the list that had the task has seen to that

public:
    /// For a list: makes `next`, null; and ends it, after which the word is `queued_at` again, without a
    /// meaning.
    void begin_link() noexcept {
        ::new (static_cast<void*>(std::addressof(next))) sys::atomic<task*>(nullptr);
    }
    void end_link() noexcept {
        std::destroy_at(std::addressof(next));
        queued_at = 0;
    }

    /// One word for the queue that has the task.
    union {
        std::uint64_t queued_at; ///< for a queue that measures delays: sys::now_ns(), or 0
        /// For a list that others read while it grows: it makes this when it takes the task in, and ends it
        /// when it gives the task away.
        sys::atomic<task*> next;
    };

private:
    function answer_;
};

/// The name of type T as the compiler writes it, inside a longer text.
template <class T>
[[nodiscard]] constexpr const char* type_description() noexcept {
    return std::source_location::current().function_name();
}

/// Cuts the name out of a type_description().
[[nodiscard]] std::string_view described_type(const char* description) noexcept;

template <class Allocator>
inline constexpr bool is_std_allocator = false;
template <class T>
inline constexpr bool is_std_allocator<std::allocator<T>> = true;

/// A callable that can be empty: std::function and the like, and pointers to functions and members.
template <class F>
concept nullable_callable = std::is_pointer_v<F> || std::is_member_pointer_v<F> || requires(const F& f) {
    { f.operator bool() } -> std::same_as<bool>;
};

/// Throws std::invalid_argument if `f` is an empty callable. `where` is the operation that refuses it.
template <class F>
void refuse_empty(const F& f, const char* where) {
    if constexpr (nullable_callable<F>) {
        if (!static_cast<bool>(f)) {
            throw std::invalid_argument(std::string(where)
                                        + ": the callable is empty, allowed is one that can be called");
        }
    }
}

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
            // The memory goes back before the call, so that what the callable posts can reuse it.
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

/// A task that calls `F` with no arguments, in memory from a user's allocator.
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
        } memory{self}; // until the callable has been moved out
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

/// A task that calls a copy of `f`. Callables of up to 48 bytes share the task's cache line; up to 240 bytes
/// they are recycled too; beyond that the memory comes from operator new. Throws std::bad_alloc,
/// std::invalid_argument for an empty callable, and what copying `f` throws; then nothing is left behind.
template <class F>
[[nodiscard]] task* make_task(F&& f, const char* where = "make_task") {
    using callable = std::decay_t<F>;
    static_assert(std::invocable<callable&>, "a task's callable takes no arguments");
    refuse_empty<callable>(f, where);
    return recycler::create<callable_task<callable>>(std::forward<F>(f));
}

/// The same, in memory from `allocator`, to which it goes back before the call. A std::allocator stands for
/// the recycler. Throws what the allocator throws, too.
template <class F, class Allocator>
[[nodiscard]] task* make_task(F&& f, const Allocator& allocator, const char* where) {
    if constexpr (is_std_allocator<Allocator>) {
        return make_task(std::forward<F>(f), where);
    } else {
        using callable = std::decay_t<F>;
        static_assert(std::invocable<callable&>, "a task's callable takes no arguments");
        refuse_empty<callable>(f, where);
        return allocated_task<callable, Allocator>::make(std::forward<F>(f), allocator);
    }
}

/// A task as a callable, for queues that know no tasks: the first call runs it. Without one it is abandoned
/// at the end.
class owned_task {
public:
    /// Takes `owned` over.
    explicit owned_task(task* owned) noexcept : task_(owned) {}
    owned_task(owned_task&& other) noexcept : task_(std::exchange(other.task_, nullptr)) {}
    owned_task& operator=(owned_task&& other) noexcept {
        std::swap(task_, other.task_);
        return *this;
    }
    ~owned_task() {
        if (task_ != nullptr) task_->abandon();
    }

    /// Once.
    void operator()() { std::exchange(task_, nullptr)->run(); }

    /// Gives the task away.
    [[nodiscard]] task* release() noexcept { return std::exchange(task_, nullptr); }

private:
    task* task_;
};

} // namespace ekiden::inline EKIDEN_ABI

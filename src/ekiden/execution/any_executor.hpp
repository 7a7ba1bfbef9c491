/// An executor that holds a copy of another executor, of any type.
///
/// Part: execution. Used by: programs, timers, and other code of the library that is not a template.
#pragma once

#include <ekiden/execution/executor.hpp>
#include <ekiden/sys/contract.hpp>

#include <concepts>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// True if an executor of type E can be moved by copying its bytes, and may be destroyed after its context.
/// The destructor and the comparison of E must not access the context. By default, the variable is true for
/// every trivially copyable type. A program must specialize the variable as false for a trivially copyable
/// executor whose destructor or comparison accesses the context.
template <class E>
inline constexpr bool is_plain_executor = std::is_trivially_copyable_v<E>;

class coroutine_promise;

namespace detail {
/// Returns the address that identifies the lanes of the executor of a lane. Returns null for every other
/// executor.
template <class E>
[[nodiscard]] const void* lanes_of(const E& where) noexcept {
    if constexpr (requires { where.lanes_id(); })
        return where.lanes_id();
    else
        return nullptr;
}
} // namespace detail

/// An object that holds a copy of an executor of any type, or no executor. An executor of up to two words is
/// stored inside the object. Most executors of this library fit into two words. A larger executor is stored
/// in memory that all copies share. A post through an any_executor costs one more indirect call, and no
/// allocation. The special member functions, the comparisons, has_target(), target() and operator bool may be
/// used if the object holds no executor. All other functions require an executor.
///
/// Thread safety: several threads may use one object at the same time. Assignment and destruction need
/// exclusive access to the object.
class any_executor : public task_sink<any_executor> {
public:
    /// Constructs an object that holds no executor.
    any_executor() noexcept = default;

    /// Constructs an object that holds `inner`. Throws std::bad_alloc if `inner` needs more than two words
    /// and there is no memory.
    template <class E>
        requires(!std::same_as<E, any_executor>) && executor<E>
    any_executor(E inner) : table_(&table_of<stored<E>>) { // NOLINT: implicit, like in the Networking TS
        ::new (place()) stored<E>(boxed(std::move(inner)));
    }
    any_executor(const any_executor& other) noexcept : table_(other.table_) {
        if (table_ != nullptr) table_->copy(place(), other.place());
    }
    any_executor(any_executor&& other) noexcept : table_(std::exchange(other.table_, nullptr)) {
        if (table_ != nullptr) table_->move(place(), other.place());
    }
    any_executor& operator=(any_executor other) noexcept {
        this->~any_executor();
        return *::new (static_cast<void*>(this)) any_executor(std::move(other));
    }
    ~any_executor() {
        if (table_ != nullptr) table_->destroy(place());
    }

    /// Returns whether this object holds an executor of type E that is equal to `inner`.
    template <executor E>
    [[nodiscard]] bool has_target(const E& inner) const noexcept {
        if constexpr (std::same_as<E, any_executor>) {
            return *this == inner;
        } else {
            const E* const own = target<E>();
            return own != nullptr && *own == inner;
        }
    }

    /// Returns whether this object holds an executor.
    [[nodiscard]] explicit operator bool() const noexcept { return table_ != nullptr; }
    /// Returns whether both objects hold equal executors of the same type, or both hold no executor. The
    /// operator is a member function. Therefore overload resolution does not consider it for a comparison of
    /// two strand<any_executor>, or of two pointers to lanes.
    [[nodiscard]] bool operator==(const any_executor& other) const noexcept {
        return table_ == other.table_ && (table_ == nullptr || table_->equal(place(), other.place()));
    }
    /// Returns a pointer to the held executor. Returns null if this object holds no executor of type E.
    template <executor E>
    [[nodiscard]] const E* target() const noexcept {
        if (table_ != &table_of<stored<E>>) return nullptr;
        const auto& inner = *static_cast<const stored<E>*>(place());
        if constexpr (std::same_as<stored<E>, E>)
            return &inner;
        else
            return inner.shared.get();
    }

    /// Returns the context of the held executor. Throws whatever context() of the held executor throws.
    [[nodiscard]] execution_context& context() const { return table().context(place()); }
    void on_work_started() const noexcept { table().on_work(place(), true); }
    void on_work_finished() const noexcept { table().on_work(place(), false); }

    [[nodiscard]] bool running_in_this_thread() const noexcept { return table().runs_here(place()); }
    /// Returns false if the held executor accepts only functions, even if the caller is inside its context.
    /// If the result is false, any_executor::dispatch() passes the function to the held executor.
    [[nodiscard]] bool calls_in_place() const noexcept { return table().calls_in_place(place()); }
    [[nodiscard]] bool runs_one_at_a_time() const noexcept { return table().runs_one_at_a_time(place()); }
    void report_unhandled(const char* type) const noexcept { table().report_unhandled(place(), type); }
    /// Returns lanes_id() of the held executor. Returns null if it is not the executor of a lane.
    [[nodiscard]] const void* lanes_id() const noexcept { return table().lanes_id(place()); }

private:
    friend struct detail::sink_access;
    friend class coroutine_promise;

    bool accept(task* given, task_order order) const { return table().accept(place(), given, order); }
    [[nodiscard]] task* continue_with(task* given) const { return table().continue_with(place(), given); }

    /// Returns whether is_plain_executor is true for the type of the held executor. Returns false if no
    /// executor is held.
    [[nodiscard]] bool is_plain() const noexcept { return table_ != nullptr && table_->is_plain; }
    /// Exchanges the executors of two objects. Both objects must hold plain executors (see is_plain()). This
    /// condition is not checked. Not thread-safe, like assignment.
    void swap_plain(any_executor& other) noexcept {
        std::swap(table_, other.table_);
        std::byte own[room]; // memcpy is used, because bytewise stores would defeat store forwarding
        std::memcpy(own, place_, room);
        std::memcpy(place_, other.place_, room);
        std::memcpy(other.place_, own, room);
    }

    struct operations {
        bool is_plain;
        void (*copy)(void* to, const void* from) noexcept;
        void (*move)(void* to, void* from) noexcept; // also destroys `from`
        void (*destroy)(void* self) noexcept;
        bool (*equal)(const void* one, const void* other) noexcept;
        execution_context& (*context)(const void* self);
        void (*on_work)(const void* self, bool has_started) noexcept;
        bool (*accept)(const void* self, task* given, task_order order);
        task* (*continue_with)(const void* self, task* given);
        bool (*runs_here)(const void* self) noexcept;
        bool (*calls_in_place)(const void* self) noexcept;
        bool (*runs_one_at_a_time)(const void* self) noexcept;
        void (*report_unhandled)(const void* self, const char* type) noexcept;
        const void* (*lanes_id)(const void* self) noexcept;
    };

    static constexpr std::size_t room = 2 * sizeof(void*);

    template <class E>
    struct shared_copy {
        std::shared_ptr<const E> shared;
    };
    template <class E>
    using stored = std::conditional_t<sizeof(E) <= room && alignof(E) <= alignof(void*), E, shared_copy<E>>;

    template <class E>
    [[nodiscard]] static stored<E> boxed(E&& inner) {
        if constexpr (std::same_as<stored<E>, E>)
            return std::move(inner);
        else
            return {std::make_shared<const E>(std::move(inner))};
    }
    template <class E>
    [[nodiscard]] static const E& unboxed(const E& inner) noexcept {
        return inner;
    }
    template <class E>
    [[nodiscard]] static const E& unboxed(const shared_copy<E>& inner) noexcept {
        return *inner.shared;
    }
    template <class Stored>
    [[nodiscard]] static const auto& at(const void* place) noexcept {
        return unboxed(*static_cast<const Stored*>(place));
    }

    template <class Stored>
    static constexpr operations table_of{
        is_plain_executor<Stored>,
        [](void* to, const void* from) noexcept { ::new (to) Stored(*static_cast<const Stored*>(from)); },
        [](void* to, void* from) noexcept {
            ::new (to) Stored(std::move(*static_cast<Stored*>(from)));
            static_cast<Stored*>(from)->~Stored();
        },
        [](void* self) noexcept { static_cast<Stored*>(self)->~Stored(); },
        [](const void* one, const void* other) noexcept { return at<Stored>(one) == at<Stored>(other); },
        [](const void* self) -> execution_context& { return at<Stored>(self).context(); },
        [](const void* self, bool has_started) noexcept {
            if (has_started)
                at<Stored>(self).on_work_started();
            else
                at<Stored>(self).on_work_finished();
        },
        [](const void* self, task* given, task_order order) {
            return ekiden::accept_task(at<Stored>(self), given, order);
        },
        [](const void* self, task* given) { return ekiden::continue_task(at<Stored>(self), given); },
        [](const void* self) noexcept { return ekiden::running_in_this_thread(at<Stored>(self)); },
        [](const void* self) noexcept { return ekiden::calls_in_place(at<Stored>(self)); },
        [](const void* self) noexcept { return detail::runs_one_at_a_time(at<Stored>(self)); },
        [](const void* self, const char* type) noexcept { ekiden::report_unhandled(at<Stored>(self), type); },
        [](const void* self) noexcept { return detail::lanes_of(at<Stored>(self)); },
    };

    [[nodiscard]] const operations& table() const noexcept {
        sys::expects(table_ != nullptr, "any_executor: used without an executor");
        return *table_;
    }
    [[nodiscard]] void* place() noexcept { return place_; }
    [[nodiscard]] const void* place() const noexcept { return place_; }

    const operations* table_ = nullptr;
    alignas(void*) std::byte place_[room];
};

} // namespace ekiden::inline EKIDEN_ABI

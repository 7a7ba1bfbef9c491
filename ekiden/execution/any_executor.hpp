/// An executor of any type.
///
/// Part: execution. Used by: programs, timers and everything else that does not want to be a template.
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

/// Whether executors of this type can be moved as bytes, and kept longer than their context: neither their
/// end nor their comparison touches it. To be specialised, as false, for a trivially copyable one that
/// cannot.
template <class E>
inline constexpr bool plain_executor = std::is_trivially_copyable_v<E>;

/// Holds a copy of an executor, or none. One of up to two words, as all of this library are, lies inside;
/// others in memory that the copies share. Posting through it costs one indirect call more, and no
/// allocation. Equal if both hold equal executors of one type. All but the special functions and bool need an
/// executor.
class any_executor : public task_sink<any_executor> {
public:
    /// Holds none.
    any_executor() noexcept = default;

    /// Throws std::bad_alloc, for large ones.
    template <class E>
        requires(!std::same_as<E, any_executor>) && executor<E>
    any_executor(E inner)
        : table_(&table_of<stored<E>>) { // NOLINT: implicit, as the executors' interface wants
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

    /// As `*this == any_executor(inner)`.
    template <executor E>
    [[nodiscard]] bool holds(const E& inner) const noexcept {
        if constexpr (std::same_as<E, any_executor>) {
            return *this == inner;
        } else {
            const E* const own = target<E>();
            return own != nullptr && *own == inner;
        }
    }
    /// Whether it holds a plain_executor.
    [[nodiscard]] bool is_plain() const noexcept { return table_ != nullptr && table_->is_plain; }
    /// Exchanges the two, which both hold plain executors (unchecked). Not thread-safe, as assignment is not.
    void swap_plain(any_executor& other) noexcept {
        std::swap(table_, other.table_);
        std::byte own[room]; // in one piece: a word that is stored byte by byte is read late
        std::memcpy(own, place_, room);
        std::memcpy(place_, other.place_, room);
        std::memcpy(other.place_, own, room);
    }

    /// Whether it holds an executor.
    [[nodiscard]] explicit operator bool() const noexcept { return table_ != nullptr; }
    /// Whether both hold executors of one type that are equal, or both hold none.
    /// A member, so that to compare a strand<any_executor> or a pointer to lanes does not consider it.
    [[nodiscard]] bool operator==(const any_executor& other) const noexcept {
        return table_ == other.table_ && (table_ == nullptr || table_->equal(place(), other.place()));
    }
    /// The executor, or null if it is of another type.
    template <executor E>
    [[nodiscard]] const E* target() const noexcept {
        if (table_ != &table_of<stored<E>>) return nullptr;
        const auto& inner = *static_cast<const stored<E>*>(place());
        if constexpr (std::same_as<stored<E>, E>)
            return &inner;
        else
            return inner.shared.get();
    }

    [[nodiscard]] execution_context& context() const noexcept { return table().context(place()); }
    void on_work_started() const noexcept { table().on_work(place(), true); }
    void on_work_finished() const noexcept { table().on_work(place(), false); }

    // ---- for task_sink

    bool accept(task* given, task_order order) const { return table().accept(place(), given, order); }
    [[nodiscard]] task* continue_with(task* given) const { return table().continue_with(place(), given); }
    [[nodiscard]] bool running_in_this_thread() const noexcept { return table().runs_here(place()); }
    /// False for one that takes only functions, also inside of it: its own dispatch() is called.
    [[nodiscard]] bool calls_in_place() const noexcept { return table().calls_in_place(place()); }
    [[nodiscard]] bool runs_one_at_a_time() const noexcept { return table().is_serial; }
    void report_unhandled(const char* type) const noexcept { table().report_unhandled(place(), type); }

private:
    struct operations {
        bool is_plain;
        bool is_serial;
        void (*copy)(void* to, const void* from) noexcept;
        void (*move)(void* to, void* from) noexcept; // and ends `from`
        void (*destroy)(void* self) noexcept;
        bool (*equal)(const void* one, const void* other) noexcept;
        execution_context& (*context)(const void* self) noexcept;
        void (*on_work)(const void* self, bool has_started) noexcept;
        bool (*accept)(const void* self, task* given, task_order order);
        task* (*continue_with)(const void* self, task* given);
        bool (*runs_here)(const void* self) noexcept;
        bool (*calls_in_place)(const void* self) noexcept;
        void (*report_unhandled)(const void* self, const char* type) noexcept;
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
        plain_executor<Stored>,
        detail::sink_is_serial<std::remove_cvref_t<decltype(at<Stored>(nullptr))>>(),
        [](void* to, const void* from) noexcept { ::new (to) Stored(*static_cast<const Stored*>(from)); },
        [](void* to, void* from) noexcept {
            ::new (to) Stored(std::move(*static_cast<Stored*>(from)));
            static_cast<Stored*>(from)->~Stored();
        },
        [](void* self) noexcept { static_cast<Stored*>(self)->~Stored(); },
        [](const void* one, const void* other) noexcept { return at<Stored>(one) == at<Stored>(other); },
        [](const void* self) noexcept -> execution_context& { return at<Stored>(self).context(); },
        [](const void* self, bool has_started) noexcept {
            if (has_started)
                at<Stored>(self).on_work_started();
            else
                at<Stored>(self).on_work_finished();
        },
        [](const void* self, task* given, task_order order) {
            return accept_task(at<Stored>(self), given, order);
        },
        [](const void* self, task* given) { return continue_task(at<Stored>(self), given); },
        [](const void* self) noexcept { return runs_here(at<Stored>(self)); },
        [](const void* self) noexcept { return ekiden::calls_in_place(at<Stored>(self)); },
        [](const void* self, const char* type) noexcept { ekiden::report_unhandled(at<Stored>(self), type); },
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

/// A move-only callable without arguments. Callables of up to 48 bytes are stored in place, larger ones on
/// the heap.
///
/// Used by: the peers whose task type the user chooses (lean shared queue, concurrentqueue).
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace lab::peers {

class small_task {
public:
    small_task() noexcept = default;

    template <class F>
        requires(!std::is_same_v<std::decay_t<F>, small_task>)
    small_task(F&& f) {
        using callable = std::decay_t<F>;
        if constexpr (fits<callable>) {
            ::new (static_cast<void*>(place_)) callable(std::forward<F>(f));
            type_ = &in_place<callable>;
        } else {
            auto* on_heap = new callable(std::forward<F>(f));
            std::memcpy(place_, &on_heap, sizeof on_heap);
            type_ = &by_pointer<callable>;
        }
    }

    small_task(small_task&& other) noexcept : type_(std::exchange(other.type_, nullptr)) {
        if (type_) type_->move(place_, other.place_);
    }

    small_task& operator=(small_task&& other) noexcept {
        if (this == &other) return *this;
        if (type_) type_->destroy(place_);
        type_ = std::exchange(other.type_, nullptr);
        if (type_) type_->move(place_, other.place_);
        return *this;
    }

    ~small_task() {
        if (type_) type_->destroy(place_);
    }

    explicit operator bool() const noexcept { return type_ != nullptr; }
    void operator()() { type_->call(place_); }

private:
    struct operations {
        void (*call)(void*);
        void (*move)(void* to, void* from) noexcept; // leaves nothing to destroy in `from`
        void (*destroy)(void*) noexcept;
    };

    static constexpr std::size_t room = 48;

    template <class F>
    static constexpr bool fits = sizeof(F) <= room && alignof(F) <= alignof(std::max_align_t)
                                 && std::is_nothrow_move_constructible_v<F>;

    template <class F>
    static constexpr operations in_place{[](void* p) { (*static_cast<F*>(p))(); },
                                         [](void* to, void* from) noexcept {
                                             ::new (to) F(std::move(*static_cast<F*>(from)));
                                             static_cast<F*>(from)->~F();
                                         },
                                         [](void* p) noexcept { static_cast<F*>(p)->~F(); }};

    template <class F>
    static F* pointer(void* p) {
        F* f;
        std::memcpy(&f, p, sizeof f);
        return f;
    }

    template <class F>
    static constexpr operations by_pointer{
        [](void* p) { (*pointer<F>(p))(); },
        [](void* to, void* from) noexcept { std::memcpy(to, from, sizeof(F*)); },
        [](void* p) noexcept { delete pointer<F>(p); }};

    const operations* type_ = nullptr;
    alignas(std::max_align_t) std::byte place_[room];
};

} // namespace lab::peers

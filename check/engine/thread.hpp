/// sys::thread, sys::yield and sys::local of the checking build. Threads are fibers of the engine.
///
/// Part: check (engine). Included by src/ekiden/sys/thread.hpp when EKIDEN_CHECKING is set.
#pragma once

#include <check/engine/access.hpp>
#include <ekiden/sys/config.hpp>

#include <compare>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Like std::thread.
class thread {
    static constexpr unsigned none = ~0U;

public:
    class id {
    public:
        id() noexcept = default;
        explicit id(unsigned number) noexcept : number_(number) {}
        auto operator<=>(const id&) const noexcept = default;
        [[nodiscard]] unsigned number() const noexcept { return number_; }

    private:
        unsigned number_ = none;
    };

    thread() noexcept = default;
    template <class F, class... Args>
        requires(!std::is_same_v<std::remove_cvref_t<F>, thread>)
    explicit thread(F&& f, Args&&... args) {
        using call = std::tuple<std::decay_t<F>, std::decay_t<Args>...>;
        auto made = std::make_unique<call>(std::forward<F>(f), std::forward<Args>(args)...);
        number_ = check::start_thread(&run<call>, made.get(), std::source_location::current());
        (void)made.release();
    }
    thread(thread&& other) noexcept : number_(std::exchange(other.number_, none)) {}
    thread& operator=(thread&& other) noexcept {
        if (joinable()) std::terminate();
        number_ = std::exchange(other.number_, none);
        return *this;
    }
    ~thread() {
        if (joinable()) std::terminate();
    }

    [[nodiscard]] bool joinable() const noexcept { return number_ != none; }
    [[nodiscard]] id get_id() const noexcept { return id(number_); }
    void join(std::source_location where = std::source_location::current()) {
        check::join_thread(std::exchange(number_, none), where);
    }
    void detach() noexcept { number_ = none; }
    void swap(thread& other) noexcept { std::swap(number_, other.number_); }
    [[nodiscard]] static unsigned hardware_concurrency() noexcept { return 2; }

private:
    template <class Call>
    static void run(void* argument) {
        const std::unique_ptr<Call> call(static_cast<Call*>(argument));
        std::apply([](auto&& f, auto&&... args) { std::invoke(std::move(f), std::move(args)...); },
                   std::move(*call));
    }

    unsigned number_ = none;
};

[[nodiscard]] inline thread::id this_thread_id() noexcept { return thread::id(check::current_thread()); }

inline void yield(std::source_location where = std::source_location::current()) noexcept {
    check::spin(false, where); // The engine assumes that a loop of yields waits for another thread.
}

template <class T>
[[nodiscard]] inline T& local() noexcept {
    static constexpr char key = 0;
    return *static_cast<T*>(
        check::thread_local_object(&key, sizeof(T), alignof(T), [](void* at) { ::new (at) T{}; }));
}

} // namespace ekiden::inline EKIDEN_ABI::sys

template <>
struct std::hash<ekiden::sys::thread::id> {
    std::size_t operator()(const ekiden::sys::thread::id& of) const noexcept { return of.number(); }
};

/// A coroutine that nobody awaits: the top of a chain.
///
/// Part: async. Used by: co_spawn, sync_wait. Private.
#pragma once

#include <ekiden/async/await_in_place.hpp>
#include <ekiden/async/coroutine_promise.hpp>
#include <ekiden/async/coroutine_service.hpp>
#include <ekiden/async/spawn_options.hpp>
#include <ekiden/execution/executor.hpp>

#include <coroutine>
#include <exception>
#include <source_location>

namespace ekiden::inline EKIDEN_ABI::detail {

struct this_root {};

/// Begins when its promise is posted. Its environment lies in its promise. Ends its own frame. The body
/// catches everything.
class root_coroutine {
public:
    class promise_type final : public coroutine_promise, public root_entry {
    public:
        explicit promise_type(std::source_location at = std::source_location::current()) noexcept
            : coroutine_promise(at), root_entry(*this, &destroy) {
            work_under(environment_);
        }
        ~promise_type() {
            if (counts_work_) environment_.executor.on_work_finished();
        }
        [[nodiscard]] root_coroutine get_return_object() noexcept { return root_coroutine(*this); }
        static std::suspend_never final_suspend() noexcept { return {}; }
        static void return_void() noexcept {}
        [[noreturn]] static void unhandled_exception() noexcept { std::terminate(); }

        /// Before it begins.
        [[nodiscard]] environment& given_environment() noexcept { return environment_; }

        /// Begins on `where`. Throws as that does; then, and if it takes no more, the frame has ended.
        template <executor E>
        void begin(const E& where, const spawn_options& chosen = spawn_options());

        using coroutine_promise::await_transform;
        /// Its own promise, for the body.
        [[nodiscard]] auto await_transform(this_root) noexcept;

    private:
        static void destroy(root_entry& entry) noexcept {
            static_cast<promise_type&>(entry).handle().destroy();
        }

        environment environment_;
        bool counts_work_ = false;
    };

    /// Of one that has not begun.
    [[nodiscard]] promise_type& promise() const noexcept { return *promise_; }

private:
    explicit root_coroutine(promise_type& own) noexcept : promise_(&own) {}
    promise_type* promise_;
};

/// Is the promise at once.
class root_awaiter {
public:
    explicit root_awaiter(root_coroutine::promise_type& own) noexcept : own_(own) {}
    [[nodiscard]] static bool await_ready() noexcept { return true; }
    static void await_suspend(std::coroutine_handle<>) noexcept {}
    [[nodiscard]] root_coroutine::promise_type& await_resume() const noexcept { return own_; }

private:
    root_coroutine::promise_type& own_;
};

inline auto root_coroutine::promise_type::await_transform(this_root) noexcept { return root_awaiter(*this); }

template <executor E>
void root_coroutine::promise_type::begin(const E& where, const spawn_options& chosen) {
    struct unless_begun {
        std::coroutine_handle<> frame;
        ~unless_begun() {
            if (frame) frame.destroy();
        }
    } guard{handle()};
    any_executor home(where);
    if (const enum priority* const level = chosen.priority()) {
        home = at_priority(home, *level);
        environment_.priority = *level;
    }
    environment_.executor = home;
    environment_.name = chosen.name();
    environment_.keeper = &use_service<coroutine_service>(home.context());
    environment_.keeper->add(*this);
    home.on_work_started();
    counts_work_ = true;
    guard.frame = nullptr;
    home.accept(this, task_order::usual); // the frame may end before it returns
}

} // namespace ekiden::inline EKIDEN_ABI::detail

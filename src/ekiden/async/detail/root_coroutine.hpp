/// A coroutine that nobody awaits: the top of a chain.
///
/// Part: async. Used by: co_spawn, sync_wait. Private.
#pragma once

#include <ekiden/async/detail/await_in_place.hpp>
#include <ekiden/async/detail/coroutine_promise.hpp>
#include <ekiden/async/detail/coroutine_service.hpp>
#include <ekiden/async/spawn_options.hpp>
#include <ekiden/execution/executor.hpp>

#include <coroutine>
#include <exception>
#include <source_location>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

struct this_root {};

/// Begins when its promise is posted. Its environment lies in its promise. Ends its own frame. The body
/// catches everything.
///
/// The context has work until nothing is left of the root: its frame, the callable in that, and its entry in
/// the context's list. So on_work_finished() is the last that a thread does for it, whatever thread that is.
class root_coroutine {
public:
    class promise_type final : public coroutine_promise, public root_entry {
        struct last_awaiter {
            [[nodiscard]] static bool await_ready() noexcept { return false; }
            static void await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
                ended.promise().end_frame();
            }
            static void await_resume() noexcept {}
        };

    public:
        explicit promise_type(std::source_location at = std::source_location::current()) noexcept
            : coroutine_promise(at, &answer), root_entry(*this, &destroy) {
            work_under(environment_);
        }
        [[nodiscard]] root_coroutine get_return_object() noexcept { return root_coroutine(*this); }
        static last_awaiter final_suspend() noexcept { return {}; }
        static void return_void() noexcept {}
        [[noreturn]] static void unhandled_exception() noexcept { std::terminate(); }

        /// Before it begins.
        [[nodiscard]] environment& given_environment() noexcept { return environment_; }

        /// Begins on `where`. Throws as that does; then, and if it takes no more, the frame has ended.
        template <executor E>
        void begin(const E& where, const spawn_options& chosen = spawn_options());

        /// While it is suspended: destroys the frame, with what it awaits, and finishes the work.
        void end_frame() noexcept;

        /// Of its task.
        static const char* answer(task* self, task_request request) {
            if (request != task_request::dispose) return answer_as_coroutine(self, request);
            static_cast<promise_type*>(self)->end_frame();
            return nullptr;
        }

        using coroutine_promise::await_transform;
        /// Its own promise, for the body.
        [[nodiscard]] auto await_transform(this_root) noexcept;

    private:
        static void destroy(root_entry& entry) noexcept { static_cast<promise_type&>(entry).end_frame(); }

        environment environment_;
        bool counts_work_ = false; // then the executor is there
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

inline void root_coroutine::promise_type::end_frame() noexcept {
    destroy_awaited(); // works under the environment yet
    const any_executor home = counts_work_ ? std::move(environment_.executor) : any_executor();
    handle().destroy();
    if (home) home.on_work_finished();
}

inline auto root_coroutine::promise_type::await_transform(this_root) noexcept { return root_awaiter(*this); }

template <executor E>
void root_coroutine::promise_type::begin(const E& where, const spawn_options& chosen) {
    struct unless_begun {
        promise_type* fresh;
        ~unless_begun() {
            if (fresh != nullptr) fresh->end_frame();
        }
    } guard{this};
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
    guard.fresh = nullptr;
    accept_task(home, this, task_order::usual); // the frame may end before it returns
}

} // namespace ekiden::inline EKIDEN_ABI::detail

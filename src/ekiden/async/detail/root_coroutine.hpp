/// A coroutine that no other coroutine awaits. It is the root of a chain of coroutines.
///
/// Part: async. Used by: co_spawn, sync_wait, async_scope. This header is private.
#pragma once

#include <ekiden/async/detail/await_in_place.hpp>
#include <ekiden/async/detail/coroutine_promise.hpp>
#include <ekiden/async/detail/coroutine_service.hpp>
#include <ekiden/async/detail/resume_loop.hpp>
#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/async/spawn_options.hpp>
#include <ekiden/execution/executor.hpp>

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// The type of a root coroutine. A root begins when its promise is posted. The promise contains the
/// environment of the root. A root destroys its own frame at its end. The body of a root catches all
/// exceptions.
///
/// A root counts as outstanding work of its context until its frame, the callable in the frame, and its entry
/// in the list of the context have been destroyed. So on_work_finished() is the last call that is made for a
/// root. Any thread may make this call.
class root_coroutine {
public:
    class promise_type : public coroutine_promise, public root_entry {
    public:
        explicit promise_type(std::source_location at = std::source_location::current()) noexcept
            : coroutine_promise(at, &answer), root_entry(static_cast<coroutine_promise&>(*this)) {
            work_under(environment_);
        }
        [[nodiscard]] root_coroutine get_return_object() noexcept { return root_coroutine(*this); }
        static final_awaiter final_suspend() noexcept { return {}; }
        void ended() noexcept { end_frame(); }
        static void return_void() noexcept {}
        [[noreturn]] static void unhandled_exception() noexcept { std::terminate(); }

        /// Returns the environment of the root. The caller may change the environment before the root begins.
        [[nodiscard]] environment& given_environment() noexcept { return environment_; }

        /// Begins the coroutine on the executor `where`. Throws every exception that the executor throws. If
        /// begin() throws, or if the executor accepts no more tasks, the frame has been destroyed. If
        /// `starts_here` is true, the calling thread runs the coroutine up to its first wait. This part of
        /// the coroutine must not call functions of the program.
        template <executor E>
        void begin(const E& where, const spawn_options& chosen = spawn_options(), bool starts_here = false);

        /// Destroys the frame of the root, and the chain of coroutines that the root awaits. Then tells the
        /// context that the work of the root has ended. The root must be suspended.
        void end_frame() noexcept;

        static const char* answer(task* self, task_request request) {
            if (request != task_request::dispose) return answer_as_coroutine(self, request);
            static_cast<promise_type*>(self)->end_frame();
            return nullptr;
        }

    private:
        struct requests_stop {
            stop_state& state;
            void operator()() const noexcept { (void)state.request_stop(); }
        };
        /// Requests a stop of the coroutine when a stop is requested through the stop token of the
        /// spawn_options.
        struct linked_stop {
            explicit linked_stop(const std::stop_token& token) : on_request(token, requests_stop{state}) {}

            stop_state state;
            std::stop_callback<requests_stop> on_request;
        };

        environment environment_;
        std::optional<linked_stop> stop_;
        bool counts_work_ = false; // true after on_work_started()
    };

    /// Returns the promise of a coroutine that has not begun.
    [[nodiscard]] promise_type& promise() const noexcept { return *promise_; }

private:
    explicit root_coroutine(promise_type& own) noexcept : promise_(&own) {}
    promise_type* promise_;
};

inline void root_coroutine::promise_type::end_frame() noexcept {
    destroy_awaited(); // must run before the executor is moved out of environment_
    const any_executor home = counts_work_ ? std::move(environment_.executor) : any_executor();
    handle().destroy();
    if (home) home.on_work_finished();
}

template <executor E>
void root_coroutine::promise_type::begin(const E& where, const spawn_options& chosen, bool starts_here) {
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
    if (chosen.stop().stop_possible()) environment_.stop = &stop_.emplace(chosen.stop()).state;
    environment_.executor = home;
    environment_.name = chosen.name();
    auto& keeper = use_service<coroutine_service>(home.context());
    environment_access::set_keeper(environment_, keeper);
    keeper.add(*this);
    home.on_work_started();
    counts_work_ = true;
    guard.fresh = nullptr;
    // The frame may be destroyed before these calls return.
    if (starts_here) {
        run_coroutines(handle());
    } else {
        const posting_scope hidden(false); // no caller runs in the frame, so it may be destroyed
        accept_task(home, this, task_order::usual);
    }
}

} // namespace ekiden::inline EKIDEN_ABI::detail

// A root whose first parameters are (std::allocator_arg_t, const Allocator&) allocates its frame by this
// allocator.
template <class Allocator, class... Args>
struct std::coroutine_traits<ekiden::detail::root_coroutine, std::allocator_arg_t, Allocator, Args...> {
    using promise_type = ekiden::detail::allocated_frame<ekiden::detail::root_coroutine::promise_type,
                                                         std::remove_cvref_t<Allocator>>;
};

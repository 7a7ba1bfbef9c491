/// The base of the promises of this library's coroutines: environment, awaiting coroutine, source location.
///
/// Part: async. Used by: coroutine<T>, and the other kinds of coroutines (co_spawn, groups).
#pragma once

#include <ekiden/async/detail/frame.hpp>
#include <ekiden/async/detail/resume_loop.hpp>
#include <ekiden/async/environment.hpp>
#include <ekiden/queue/task.hpp>

#include <coroutine>
#include <cstdint>
#include <source_location>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

class coroutine_promise;

namespace detail {

/// Links an awaiting coroutine and the coroutine that it awaits. Lies in the awaiter.
struct await_link {
    std::coroutine_handle<> waiting;     ///< the awaiting coroutine
    coroutine_promise* parent = nullptr; ///< its promise; null if it belongs to another library
    std::coroutine_handle<> child; ///< the awaited coroutine, destroyed with the awaiter; null: destroyed

    await_link() noexcept = default;
    explicit await_link(std::coroutine_handle<> owned) noexcept : child(owned) {}
    await_link(const await_link&) = delete;
    await_link& operator=(const await_link&) = delete;
    ~await_link() {
        if (!child) return;
        // The awaiting coroutine may belong to another library, which destroys no chain of awaits itself.
        if (parent == nullptr) destroy_awaited_by_child();
        std::exchange(child, nullptr).destroy();
    }

private:
    void destroy_awaited_by_child() const noexcept;
};

template <class T>
auto await_in_place(T&& awaitable);

} // namespace detail

/// The first base of promises. A promise is a task: running the task resumes the coroutine. The coroutine
/// must be suspended, and nothing else may resume it.
///
/// A coroutine without an await_link is a root. If an executor drops a coroutine, the chain of coroutines is
/// destroyed from the leaf up to the root. The root gets the request `dispose`, and by default destroys its
/// frame.
class coroutine_promise : public task, public pooled_frame {
public:
    coroutine_promise(const coroutine_promise&) = delete;
    coroutine_promise& operator=(const coroutine_promise&) = delete;

    [[nodiscard]] const environment& env() const noexcept { return *env_; }
    /// Sets the environment, which must outlive the coroutine. Called before the coroutine begins.
    void work_under(const environment& given) noexcept { env_ = &given; }
    /// Changes the executor of this coroutine, and of coroutines that it awaits later, in an environment of
    /// its own. Returns false if `to` is its executor already. Throws std::bad_alloc; then it has no effect.
    template <executor E>
    [[nodiscard]] bool move_home(const E& to) {
        if (env_->executor.has_target(to)) return false;
        if (!owns_environment_) make_environment();
        auto& own = static_cast<detail::hopped_environment&>(const_cast<environment&>(*env_)); // NOLINT
        if (own.before && own.before.has_target(to)) {
            own.executor.swap_plain(own.before);
        } else {
            any_executor left = std::exchange(own.executor, any_executor(to));
            own.before = left.is_plain() && own.executor.is_plain() ? std::move(left) : any_executor();
        }
        return true;
    }

    [[nodiscard]] std::coroutine_handle<> handle() noexcept {
        return std::coroutine_handle<coroutine_promise>::from_promise(*this);
    }

    /// Posts the suspended coroutine to its executor. Its frame may be destroyed before the call returns.
    void post(task_order order) noexcept;

    /// Destroys this suspended coroutine, which nothing will resume, and all coroutines that wait for it, up
    /// to the root.
    void abandon_chain() noexcept;

    /// Destroys all coroutines that this suspended one awaits, from the leaf up. Called before its own frame
    /// is destroyed, because nested destructors of a long chain would overflow the stack.
    void destroy_awaited() noexcept {
        if (child != nullptr) destroy_chain_below();
    }

    /// The awaiter sets it before the coroutine begins. It names the coroutine to resume at the end. Null in
    /// a root.
    detail::await_link* link = nullptr;

    /// The coroutine that it awaits; null if it awaits something else. For dumps.
    coroutine_promise* child = nullptr;

    /// The place where the coroutine is defined, and the line of its latest await. For dumps.
    [[nodiscard]] const std::source_location& where() const noexcept { return where_; }
    [[nodiscard]] std::uint32_t line() const noexcept { return line_; }
    /// Returns the promise of the coroutine that the task begins or resumes; null if the task does something
    /// else.
    [[nodiscard]] static const coroutine_promise* of(const task& queued) noexcept;

    static std::suspend_always initial_suspend() noexcept { return {}; }

    /// Wraps any awaitable, also another library's, so that the coroutine resumes on its executor.
    template <class T>
    [[nodiscard]] auto await_transform(T&& awaitable, std::uint32_t line = __builtin_LINE()) {
        line_ = line;
        return detail::await_in_place(std::forward<T>(awaitable));
    }

protected:
    explicit coroutine_promise(std::source_location where, function answer = &answer_as_coroutine) noexcept
        : task(answer), where_(where) {}
    ~coroutine_promise() {
        if (owns_environment_) drop_environment();
    }

    /// The function of the task.
    static const char* answer_as_coroutine(task* self, task_request request);

private:
    void give_up() noexcept;
    void make_environment();
    void drop_environment() noexcept;
    void destroy_chain_below() noexcept;

    const environment* env_ = nullptr;
    const std::source_location where_;
    std::uint32_t line_ = 0;
    bool owns_environment_ = false;
    bool is_given_up_ = false; // its executor has refused it: running the task destroys it
};

namespace detail {

/// Called at the end of a coroutine. Returns the coroutine that continues: the one that waits for it, if both
/// have the same executor.
[[nodiscard]] std::coroutine_handle<> end_of(coroutine_promise& ended) noexcept;

/// Calls ended() of the promise, which may destroy the frame.
struct final_awaiter {
    [[nodiscard]] static bool await_ready() noexcept { return false; }
    template <class Promise>
    static auto await_suspend(std::coroutine_handle<Promise> at_end) noexcept {
        return at_end.promise().ended();
    }
    static void await_resume() noexcept {}
};

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI

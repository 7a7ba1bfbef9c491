/// The base of the promises of this library's coroutines. The base contains the environment, the awaiting
/// coroutine, and the position in the source code.
///
/// Part: async. Used by: coroutine, co_spawn, group.
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

/// Links an awaiting coroutine and the awaited coroutine. The link lies in the awaiter.
struct await_link {
    std::coroutine_handle<> waiting;     ///< the awaiting coroutine
    coroutine_promise* parent = nullptr; ///< promise of `waiting`; null for another library
    std::coroutine_handle<> child;       ///< the awaited coroutine, or null; owned by the link

    await_link() noexcept = default;
    explicit await_link(std::coroutine_handle<> owned) noexcept : child(owned) {}
    await_link(const await_link&) = delete;
    await_link& operator=(const await_link&) = delete;
    ~await_link() {
        if (!child) return;
        // If the awaiting coroutine belongs to another library, that library does not destroy the chain of
        // awaits.
        if (parent == nullptr) destroy_awaited_by_child();
        std::exchange(child, nullptr).destroy();
    }

private:
    void destroy_awaited_by_child() const noexcept;
};

template <class T>
auto await_in_place(T&& awaitable);

} // namespace detail

/// The first base class of all promises of this library. A promise is also a task. Running the task resumes
/// the coroutine. The coroutine must be suspended, and no other thread may resume it.
///
/// A coroutine without an await_link is a root. If an executor drops a coroutine, the chain of coroutines is
/// destroyed from the leaf up to the root. The root gets the request `dispose`. By default, the root then
/// destroys its frame.
class coroutine_promise : public task, public pooled_frame {
public:
    coroutine_promise(const coroutine_promise&) = delete;
    coroutine_promise& operator=(const coroutine_promise&) = delete;

    [[nodiscard]] const environment& env() const noexcept { return *env_; }
    /// Sets the environment, which must outlive the coroutine. Called before the coroutine begins.
    void work_under(const environment& given) noexcept { env_ = &given; }
    /// Changes the executor of this coroutine, and of the coroutines that it awaits later. The change is made
    /// in an environment that only this coroutine uses. Returns false if `to` is already the executor. Throws
    /// std::bad_alloc. If move_home() throws, it has no effect.
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

    /// Posts the suspended coroutine to its executor. The frame of the coroutine may be destroyed before the
    /// call returns.
    void post(task_order order) noexcept;

    /// Destroys this suspended coroutine, and all coroutines that wait for it, up to the root. No thread may
    /// resume the coroutine any more.
    void abandon_chain() noexcept;

    /// Destroys all coroutines that this suspended coroutine awaits, from the leaf up. Called before the
    /// frame of this coroutine is destroyed, because nested destructors of a long chain would overflow the
    /// stack.
    void destroy_awaited() noexcept {
        if (child != nullptr) destroy_chain_below();
    }

    /// The link to the coroutine that waits for this coroutine, and that resumes at its end. The awaiter sets
    /// the link before this coroutine begins. In a root, the link is null.
    detail::await_link* link = nullptr;

    /// The coroutine that this coroutine awaits, or null. Used for dumps, and to find the leaf of a chain.
    coroutine_promise* child = nullptr;

    /// where() is the place where the coroutine is defined. line() is the line of its latest await. Dumps
    /// show both.
    [[nodiscard]] const std::source_location& where() const noexcept { return where_; }
    [[nodiscard]] std::uint32_t line() const noexcept { return line_; }
    /// Returns the promise of the coroutine that the task begins or resumes. Returns null for every other
    /// task.
    [[nodiscard]] static const coroutine_promise* of(const task& queued) noexcept;

    static std::suspend_always initial_suspend() noexcept { return {}; }

    /// Wraps an awaitable, so that the coroutine resumes on its executor. The awaitable may belong to another
    /// library.
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
    bool is_given_up_ = false; // the executor has refused it, so running the task destroys it
};

namespace detail {

/// Called at the end of a coroutine. Returns the awaiting coroutine, which then continues, if both coroutines
/// have the same executor. Otherwise posts the awaiting coroutine.
[[nodiscard]] std::coroutine_handle<> end_of(coroutine_promise& ended) noexcept;

/// The awaiter at the end of a coroutine. The awaiter calls ended() of the promise, which may destroy the
/// frame.
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

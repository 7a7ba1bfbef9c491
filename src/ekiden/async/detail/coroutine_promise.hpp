/// The base class of the promises of this library's coroutines. This class contains pointers to the
/// environment and the awaiting coroutine, and the position of the coroutine in the source code.
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

/// Links an awaiting coroutine and the awaited coroutine. The link is a member of the awaiter.
struct await_link {
    std::coroutine_handle<> waiting;     ///< the awaiting coroutine
    coroutine_promise* parent = nullptr; ///< promise of `waiting`; null for a coroutine of another library
    std::coroutine_handle<> child;       ///< the awaited coroutine, which the link owns, or null

    await_link() noexcept = default;
    explicit await_link(std::coroutine_handle<> owned) noexcept : child(owned) {}
    await_link(const await_link&) = delete;
    await_link& operator=(const await_link&) = delete;
    ~await_link() {
        if (!child) return;
        // If the awaiting coroutine belongs to another library, the other library does not destroy the
        // coroutines that `child` awaits.
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
/// the coroutine. At this time, the coroutine must be suspended, and no other thread may resume it.
///
/// A coroutine without an await_link is called a root, because no coroutine awaits it. If an executor drops a
/// coroutine, this coroutine and all coroutines that wait for it are destroyed, up to the root. The task of
/// the root gets the request `dispose`. By default, this request destroys the frame of the root.
class coroutine_promise : public task, public pooled_frame {
public:
    coroutine_promise(const coroutine_promise&) = delete;
    coroutine_promise& operator=(const coroutine_promise&) = delete;

    [[nodiscard]] const environment& env() const noexcept { return *env_; }
    /// Sets the environment, which must outlive the coroutine. Called before the coroutine begins.
    void work_under(const environment& given) noexcept { env_ = &given; }
    /// Changes the executor of this coroutine, and of the coroutines that it awaits later. The change is made
    /// in a copy of the environment, which this coroutine owns. Returns false if `to` is already the
    /// executor. Throws std::bad_alloc, and std::system_error if the coroutine has a turn in the lanes of
    /// `to`. If move_home() throws, it has no effect.
    template <executor E>
    [[nodiscard]] bool move_home(const E& to) {
        if (env_->executor.has_target(to)) return false;
        if (env_->turns) [[unlikely]]
            detail::refuse_to_move(*env_, detail::lanes_of(to));
        auto& own = own_environment();
        if (own.before && own.before.has_target(to)) {
            own.executor.swap_plain(own.before);
        } else {
            any_executor left = std::exchange(own.executor, any_executor(to));
            own.before = left.is_plain() && own.executor.is_plain() ? std::move(left) : any_executor();
        }
        return true;
    }

    /// Records in a copy of the environment that the coroutine waits for a turn. Throws std::bad_alloc. The
    /// coroutines that this coroutine awaits later inherit the record.
    void mark_turn(turn_record& wanted);

    [[nodiscard]] std::coroutine_handle<> handle() noexcept {
        return std::coroutine_handle<coroutine_promise>::from_promise(*this);
    }

    /// Posts the suspended coroutine to its executor. The frame of the coroutine may be destroyed before the
    /// call returns.
    void post(task_order order) noexcept;

    /// Destroys this suspended coroutine, and all coroutines that wait for it, up to the root. No thread may
    /// resume the coroutine any more.
    void abandon_chain() noexcept;

    /// Destroys the coroutine that this suspended coroutine awaits, the coroutine that this awaited coroutine
    /// awaits, and so on. The last of these coroutines is destroyed first. Called before the frame of this
    /// coroutine is destroyed, because nested destructors of a long chain would overflow the stack.
    void destroy_awaited() noexcept {
        if (child != nullptr) destroy_chain_below();
    }

    /// The link to the coroutine that awaits this coroutine. The awaiting coroutine resumes at the end of
    /// this coroutine. The awaiter sets the link before this coroutine begins. In a root, the link is null.
    detail::await_link* link = nullptr;

    /// The coroutine that this coroutine awaits, or null. This pointer is used for dumps, and to find the
    /// last coroutine of a chain of awaits.
    coroutine_promise* child = nullptr;

    /// where() returns the place in the source code that defines the coroutine. line() returns the line of
    /// the latest await in the coroutine. Dumps show both places.
    [[nodiscard]] const std::source_location& where() const noexcept { return where_; }
    [[nodiscard]] std::uint32_t line() const noexcept { return line_; }
    /// If the task `queued` begins or resumes a coroutine of this library, returns the promise of this
    /// coroutine. Returns null for every other task.
    [[nodiscard]] static const coroutine_promise* of(const task& queued) noexcept;

    static std::suspend_always initial_suspend() noexcept { return {}; }

    /// Wraps an awaitable, so that this coroutine resumes on its own executor. The awaitable may belong to
    /// another library.
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

    /// The function that handles requests to the task, for example the request to run.
    static const char* answer_as_coroutine(task* self, task_request request);

private:
    void give_up() noexcept;
    [[nodiscard]] detail::hopped_environment& own_environment() {
        if (!owns_environment_) make_environment();
        return static_cast<detail::hopped_environment&>(const_cast<environment&>(*env_)); // NOLINT: made here
    }
    void make_environment();
    void drop_environment() noexcept;
    void destroy_chain_below() noexcept;

    const environment* env_ = nullptr;
    const std::source_location where_;
    std::uint32_t line_ = 0;
    bool owns_environment_ = false;
    bool is_given_up_ = false; // true if the executor has refused the task; running it destroys the chain
};

namespace detail {

/// Called at the end of a coroutine. If both coroutines have the same executor, returns the awaiting
/// coroutine, which then continues. Otherwise, posts the awaiting coroutine to its executor.
[[nodiscard]] std::coroutine_handle<> end_of(coroutine_promise& ended) noexcept;

/// The awaiter that final_suspend() returns. The awaiter calls ended() of the promise, which may destroy the
/// coroutine frame.
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

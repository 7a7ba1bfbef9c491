/// What every coroutine of this library has in its frame: where it works, for whom, and where it stands.
///
/// Part: async. Used by: coroutine<T>, and everything that makes a coroutine of a kind of its own (co_spawn,
/// groups).
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

/// Between a coroutine and the one that it awaits; lies in the awaiter.
struct await_link {
    std::coroutine_handle<> waiting;     ///< the one that awaits
    coroutine_promise* parent = nullptr; ///< its promise; null if it is another library's
    std::coroutine_handle<> child;       ///< its frame is ended with the awaiter; null: it has been

    await_link() noexcept = default;
    explicit await_link(std::coroutine_handle<> owned) noexcept : child(owned) {}
    await_link(const await_link&) = delete;
    await_link& operator=(const await_link&) = delete;
    ~await_link() {
        if (!child) return;
        // Another library's coroutine may be what goes: it destroys nothing below it by hand.
        if (parent == nullptr) destroy_awaited_by_child();
        std::exchange(child, nullptr).destroy();
    }

private:
    void destroy_awaited_by_child() const noexcept;
};

template <class T>
auto await_in_place(T&& awaitable);

} // namespace detail

/// The base of promises; the first one. A promise is a task itself: resumed by running it, while its
/// coroutine is suspended and nothing else will resume it.
///
/// A coroutine without an await_link is a root. When a coroutine cannot come home any more, because its
/// executor has dropped it, its chain is destroyed from the leaf up to the root, which is asked to `dispose`:
/// by default it destroys its frame.
class coroutine_promise : public task, public pooled_frame {
public:
    coroutine_promise(const coroutine_promise&) = delete;
    coroutine_promise& operator=(const coroutine_promise&) = delete;

    [[nodiscard]] const environment& env() const noexcept { return *env_; }
    /// Before the coroutine begins: it works under this one, which outlives it.
    void work_under(const environment& given) noexcept { env_ = &given; }
    /// Home is elsewhere from now on, for this coroutine and those that it awaits later: in an environment of
    /// its own, that is not inherited from anybody. False: it is that already. Throws std::bad_alloc; then
    /// home is where it was.
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

    /// Suspended: posts the coroutine to its executor. Its frame may be gone afterwards.
    void post(task_order order) noexcept;

    /// Nothing will resume this coroutine, which is suspended: destroys it and all that wait for it, up to
    /// the root.
    void abandon_chain() noexcept;

    /// By whoever is about to destroy its frame, while it is suspended: destroys all that it awaits first,
    /// from the leaf up. (A chain may be longer than a stack is deep.)
    void destroy_awaited() noexcept {
        if (child != nullptr) destroy_chain_below();
    }

    /// Before it begins, by the awaiter: who is resumed at the end. Null in a root.
    detail::await_link* link = nullptr;

    /// The one that it awaits, null if that is no coroutine of ours. For dumps.
    coroutine_promise* child = nullptr;

    /// Where the coroutine is defined, and the line of its latest await. For dumps.
    [[nodiscard]] const std::source_location& where() const noexcept { return where_; }
    [[nodiscard]] std::uint32_t line() const noexcept { return line_; }
    /// That of the coroutine which `queued` begins or resumes; null if that does something else.
    [[nodiscard]] static const coroutine_promise* of(const task& queued) noexcept;

    static std::suspend_always initial_suspend() noexcept { return {}; }

    /// Whatever is awaited, one of ours or another library's: the coroutine comes home from it.
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

    /// Runs, or is abandoned.
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
    bool is_given_up_ = false; // its executor has refused it: running it ends it
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

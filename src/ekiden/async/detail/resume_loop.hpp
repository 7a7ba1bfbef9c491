/// The loop in which a thread resumes coroutines. With this loop, the stack does not grow when many
/// coroutines continue one after another.
///
/// Part: async. Used by: coroutine_promise, suspension. This header is private.
#pragma once

#include <ekiden/sys/config.hpp>

#include <coroutine>
#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

class coroutine_promise;

namespace detail {

/// While this object exists, the thread passes a coroutine to an executor. If the executor refuses the
/// coroutine, no frame is destroyed before the end of this object, because the caller may hold a lock or may
/// be a part of the coroutine. If `is_posting` is false, the object hides the surrounding scopes instead. A
/// compiler may keep the address of thread-local data across a suspension. So these functions are not inline,
/// because they may be called in a coroutine.
class posting_scope {
public:
    explicit posting_scope(bool is_posting = true) noexcept;
    ~posting_scope();
    posting_scope(const posting_scope&) = delete;
    posting_scope& operator=(const posting_scope&) = delete;

    /// Returns whether the calling thread is inside a posting_scope.
    [[nodiscard]] static bool is_here() noexcept;

private:
    const bool outer_;
};

/// Resumes `first`, and then each coroutine that was passed to the loop, until no coroutine is left. Every
/// coroutine of this library runs inside a resume loop.
void run_coroutines(std::coroutine_handle<> first) noexcept;

/// Returns the handle that await_suspend() must return, so that the thread continues with the coroutine `to`.
/// If the stack is deep, the resume loop resumes `to` instead. A compiler may call the coroutine of a
/// returned handle instead of jumping to it, and so the stack may grow. transfer() limits this growth to 16
/// KiB.
[[nodiscard]] std::coroutine_handle<> transfer(std::coroutine_handle<> to) noexcept;

/// Does the same as transfer(), and counts an await against the time slice of the coroutine. If the time
/// slice is over, posts `to` to the end of its executor's queue.
[[nodiscard]] std::coroutine_handle<> transfer_counted(coroutine_promise& to) noexcept;

/// Counts an await that is ready at once. If the time slice of the coroutine is over, returns true. The
/// caller must then post the coroutine to the end of its executor's queue.
[[nodiscard]] bool is_slice_over() noexcept;

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI

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

/// The thread-local data of a thread that runs coroutines. A compiler may keep the address of thread-local
/// data across a suspension. So a coroutine, or a function that is inlined into a coroutine, must not use
/// this record.
struct resume_record {
    const char* base = nullptr;     ///< the stack address of the innermost resume loop, or null
    std::coroutine_handle<> next;   ///< the coroutine that the loop resumes next, or null
    std::uint32_t left = 0;         ///< number of awaits until the clock is read again
    bool is_posting = false;        ///< true inside accept() of an executor, where no frame may be destroyed
    std::uint64_t slice_began = 0;  ///< time in ns of the first reading of the clock in this slice, or 0
    const void* foreign = nullptr;  ///< the await_link for which another library began this loop, or null
    bool foreign_has_ended = false; ///< true if the coroutine that `foreign` awaits has ended

    [[nodiscard]] static resume_record& here() noexcept;
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

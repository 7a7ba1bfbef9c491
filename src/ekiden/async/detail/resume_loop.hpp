/// The loop in which a thread resumes coroutines. Because of this loop, many coroutines can continue each
/// other without a deeper stack.
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

/// The data of a thread that runs coroutines. Coroutines, and functions that are inlined into coroutines,
/// must not use this record, because a compiler may keep the address of thread-local data across a
/// suspension.
struct resume_record {
    const char* base = nullptr;     ///< the stack address of the innermost resume loop, or null
    std::coroutine_handle<> next;   ///< the coroutine that the loop resumes next, or null
    std::uint32_t left = 0;         ///< number of awaits until the clock is read again
    bool is_posting = false;        ///< true inside accept(), where no refused coroutine may be destroyed
    std::uint64_t slice_began = 0;  ///< the time in ns when the clock was first read in this slice, or 0
    const void* foreign = nullptr;  ///< the foreign coroutine's await that began this loop, or null
    bool foreign_has_ended = false; ///< true if the coroutine that `foreign` awaits has ended

    [[nodiscard]] static resume_record& here() noexcept;
};

/// Resumes `first`, and then each coroutine that was passed to the loop, until no coroutine is left. Every
/// coroutine runs inside a call of this function.
void run_coroutines(std::coroutine_handle<> first) noexcept;

/// Returns the handle that await_suspend() must return, so that the thread continues with `to`. If the stack
/// is deep, passes `to` to the resume loop instead. A compiler need not turn the return of a handle into a
/// jump. So the stack may grow, but by at most 16 KiB.
[[nodiscard]] std::coroutine_handle<> transfer(std::coroutine_handle<> to) noexcept;

/// Does the same as transfer() at the beginning of an await. The await counts against the time slice. If the
/// slice is over, posts `to` to the end of its executor's queue.
[[nodiscard]] std::coroutine_handle<> transfer_counted(coroutine_promise& to) noexcept;

/// Counts an await that is ready at once. Returns whether the time slice is over. If so, the caller posts the
/// coroutine to the end of its executor's queue.
[[nodiscard]] bool is_slice_over() noexcept;

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI

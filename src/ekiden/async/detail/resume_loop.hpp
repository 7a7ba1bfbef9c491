/// The loop in which a thread resumes coroutines. One coroutine continues with another without a deeper
/// stack.
///
/// Part: async. Used by: coroutine_promise, suspension. Private.
#pragma once

#include <ekiden/sys/config.hpp>

#include <coroutine>
#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

class coroutine_promise;

namespace detail {

/// The data of a thread that runs coroutines. Coroutines, and functions that are inlined into them, must not
/// use it: a compiler may keep the address of thread-local data over a suspension.
struct resume_record {
    const char* base = nullptr;    ///< the stack address of the innermost resume loop; null: there is none
    std::coroutine_handle<> next;  ///< the coroutine that the loop resumes next, or null
    std::uint32_t left = 0;        ///< awaits until the clock is read again
    bool is_posting = false;       ///< inside accept(), where a refused coroutine must not be destroyed
    std::uint64_t slice_began = 0; ///< sys::now_ns() at the first reading of the slice, or 0
    const void* foreign = nullptr; ///< the await of another library's coroutine for which this loop was begun
    bool foreign_has_ended = false; ///< the awaited coroutine has ended, so the other one need not suspend

    [[nodiscard]] static resume_record& here() noexcept;
};

/// Resumes `first`, and then each coroutine that it hands over, until none is left. Every coroutine runs in
/// such a call.
void run_coroutines(std::coroutine_handle<> first) noexcept;

/// Returns the coroutine that await_suspend() returns, so that the thread continues with `to`. If the stack
/// is deep, hands `to` to the resume loop instead. A compiler need not turn the direct way into a jump. So
/// the stack may grow, but by at most 16 KiB.
[[nodiscard]] std::coroutine_handle<> transfer(std::coroutine_handle<> to) noexcept;

/// Does the same at the beginning of an await, which counts against the time slice. If the slice is over,
/// posts `to` to the end of its executor's queue.
[[nodiscard]] std::coroutine_handle<> transfer_counted(coroutine_promise& to) noexcept;

/// Counts an await that is ready at once. Returns whether the time slice is over. If so, the caller posts the
/// coroutine to the end of its executor's queue.
[[nodiscard]] bool is_slice_over() noexcept;

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI

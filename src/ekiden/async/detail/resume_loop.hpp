/// Where a thread resumes coroutines, and how one coroutine goes on with the next without a deeper stack.
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

/// What a thread keeps of the coroutines that it runs. Only functions that are no coroutines, and are not
/// inlined into one, look at it: a compiler may keep the address of a thread's data over a suspension.
struct resume_record {
    const char* base = nullptr;     ///< where the innermost resume loop stands; null: there is none
    std::coroutine_handle<> next;   ///< handed to that loop; null: nothing
    std::uint32_t left = 0;         ///< awaits until the next look at the clock
    bool is_posting = false;        ///< inside of accept(): what is refused is not destroyed in there
    std::uint64_t slice_began = 0;  ///< sys::now_ns() at the first look, or 0
    const void* foreign = nullptr;  ///< whose await this loop has begun for a coroutine of another library
    bool foreign_has_ended = false; ///< and that need not suspend

    [[nodiscard]] static resume_record& here() noexcept;
};

/// Resumes `first`, then what it hands over, until nothing is left: the bottom of every coroutine's stack.
void run_coroutines(std::coroutine_handle<> first) noexcept;

/// For await_suspend() to return: goes on with `to` directly while the stack is near the resume loop, and
/// else by way of it. A compiler need not make a jump of the direct way: the stack grows by at most 16 KiB.
[[nodiscard]] std::coroutine_handle<> transfer(std::coroutine_handle<> to) noexcept;

/// The same for the beginning of an await, which counts as one against the time slice: `to` goes to the end
/// of its executor's queue when that has passed.
[[nodiscard]] std::coroutine_handle<> transfer_counted(coroutine_promise& to) noexcept;

/// Counts an await that is ready at once. True: the time slice has passed, and the coroutine goes to the end
/// of its executor's queue.
[[nodiscard]] bool is_slice_over() noexcept;

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI

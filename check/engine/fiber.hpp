/// Fibers, which are the threads of a model. All fibers run on one thread of the operating system, one at a
/// time.
///
/// Part: check (engine). A switch saves the callee-saved registers and the C++ runtime's record of exceptions
/// in flight. So the engine can switch away from a fiber inside a catch block.
#pragma once

#include <cstddef>
#include <cstdint>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>
#endif

namespace ekiden::check {

/// A suspended point of execution.
struct context {
#if defined(__x86_64__) || defined(__aarch64__)
    void* stack_pointer = nullptr;
#else
    ucontext_t machine{};
#endif
    void* caught_exceptions = nullptr;
    unsigned uncaught_exceptions = 0;
};

/// A stack with a guard page below it. Several fibers can use the same stack one after another.
class stack {
public:
    /// If `at` is not null, the stack with its guard page begins there, and `size` includes the guard page.
    explicit stack(std::size_t size, void* at = nullptr);
    ~stack();
    stack(const stack&) = delete;
    stack& operator=(const stack&) = delete;

    /// Returns a context that will call `entry`, which must not return.
    [[nodiscard]] context prepare(void (*entry)()) noexcept;

private:
    char* base_;
    std::size_t size_;
};

/// Saves the running fiber in `from` and resumes `to`.
void switch_context(context& from, context& to) noexcept;

} // namespace ekiden::check

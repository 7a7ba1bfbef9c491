/// Threads of a model: stacks that take turns on one thread of the operating system.
///
/// Part: check (engine). A switch saves the callee-saved registers and the C++ runtime's record of exceptions
/// in flight, so that a fiber may be switched away from inside a catch block.
#pragma once

#include <cstddef>
#include <cstdint>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>
#endif

namespace ekiden::check {

/// A point of execution to come back to.
struct context {
#if defined(__x86_64__) || defined(__aarch64__)
    void* stack_pointer = nullptr;
#else
    ucontext_t machine{};
#endif
    void* caught_exceptions = nullptr;
    unsigned uncaught_exceptions = 0;
};

/// A stack with a guard page below it. Reused for any number of fibers, one after the other.
class stack {
public:
    explicit stack(std::size_t size);
    ~stack();
    stack(const stack&) = delete;
    stack& operator=(const stack&) = delete;

    /// A context that will call `entry`, which must not return.
    [[nodiscard]] context prepare(void (*entry)()) noexcept;

private:
    char* base_;
    std::size_t size_;
};

/// Saves the running fiber in `from` and continues `to`.
void switch_context(context& from, context& to) noexcept;

} // namespace ekiden::check

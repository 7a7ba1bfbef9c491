#include <check/engine/fiber.hpp>

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace ekiden::check {
namespace {

// In the Itanium C++ ABI, each thread has such a record. All fibers share one thread, so each fiber keeps its
// own copy.
struct exception_globals {
    void* caught;
    unsigned uncaught;
};

exception_globals* globals() noexcept {
    return reinterpret_cast<exception_globals*>(abi::__cxa_get_globals());
}

std::size_t page() noexcept { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

} // namespace

#if defined(__x86_64__)
extern "C" void ekiden_check_switch(void** save, void* to) noexcept;
asm(R"(
.text
.type ekiden_check_switch,@function
ekiden_check_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size ekiden_check_switch,.-ekiden_check_switch
)");
#elif defined(__aarch64__)
extern "C" void ekiden_check_switch(void** save, void* to) noexcept;
asm(R"(
.text
.type ekiden_check_switch,%function
ekiden_check_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
.size ekiden_check_switch,.-ekiden_check_switch
)");
#endif

stack::stack(std::size_t size, void* at) : size_(at != nullptr ? size : size + page()) {
    const int placed = at != nullptr ? MAP_FIXED : 0;
    void* memory = ::mmap(at, size_, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | placed, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<char*>(memory);
    if (::mprotect(base_, page(), PROT_NONE) != 0) {
        ::munmap(base_, size_);
        throw std::bad_alloc();
    }
}

stack::~stack() { ::munmap(base_, size_); }

context stack::prepare(void (*entry)()) noexcept {
    context made;
#if defined(__x86_64__)
    // Prepares the stack like after a call. The stack pointer is 8 below a multiple of 16 at the first
    // instruction.
    auto** top = reinterpret_cast<void**>(base_ + size_ - 64);
    *--top = nullptr;
    *--top = reinterpret_cast<void*>(entry);
    for (int saved = 0; saved < 6; ++saved) *--top = nullptr;
    made.stack_pointer = top;
#elif defined(__aarch64__)
    auto** frame = reinterpret_cast<void**>(base_ + size_ - 64 - 160);
    std::memset(frame, 0, 160);
    frame[11] = reinterpret_cast<void*>(entry); // x30, the address to which the switch returns
    made.stack_pointer = frame;
#else
    ::getcontext(&made.machine);
    made.machine.uc_stack.ss_sp = base_;
    made.machine.uc_stack.ss_size = size_;
    made.machine.uc_link = nullptr;
    ::makecontext(&made.machine, entry, 0);
#endif
    return made;
}

void switch_context(context& from, context& to) noexcept {
    static exception_globals* const in_flight = globals();
    from.caught_exceptions = in_flight->caught;
    from.uncaught_exceptions = in_flight->uncaught;
    in_flight->caught = to.caught_exceptions;
    in_flight->uncaught = to.uncaught_exceptions;
#if defined(__x86_64__) || defined(__aarch64__)
    ekiden_check_switch(&from.stack_pointer, to.stack_pointer);
#else
    ::swapcontext(&from.machine, &to.machine);
#endif
}

} // namespace ekiden::check

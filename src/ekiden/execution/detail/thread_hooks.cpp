#include <ekiden/execution/detail/thread_hooks.hpp>

#include <ekiden/execution/detail/own_thread.hpp>
#include <ekiden/execution/detail/unhandled.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/fork.hpp>

namespace ekiden::inline EKIDEN_ABI {

void call_thread_hook(
    const std::function<void(unsigned)>& hook, const char* option, unsigned index,
    const std::function<void(std::exception_ptr, std::string_view)>& on_unhandled) noexcept {
    if (!hook) return;
    const hook_scope here(option);
    const auto generation = sys::fork_generation();
    try {
        hook(index);
    } catch (...) {
        report_unhandled(on_unhandled, option);
    }
    sys::expects(generation == sys::fork_generation(),
                 "a function on_thread_start or on_thread_stop that called fork() has returned in the child, "
                 "where its pool does not exist; a child of such a function ends with exec or _exit");
}

} // namespace ekiden::inline EKIDEN_ABI

#include <ekiden/async/use_awaitable.hpp>

#include <ekiden/sys/thread.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

namespace {

/// The operation that this thread is starting. It is kept outside the operation, which may be destroyed
/// meanwhile.
struct starting {
    const awaited_operation* begun = nullptr;
    bool is_dropped = false;
};

[[gnu::noinline]] starting& started_here() noexcept { return sys::local<starting>(); }

} // namespace

void awaited_operation::start_by(void (*start)(void*), void* argument) {
    struct scope {
        starting outer = std::exchange(started_here(), {});
        ~scope() { started_here() = outer; }
    };
    bool is_dropped = false;
    {
        const scope here;
        started_here().begun = this;
        start(argument); // if it throws, the coroutine continues with the exception
        is_dropped = started_here().is_dropped;
    }
    // Not inside start(): the coroutine is not suspended before this thread has left its await.
    if (is_dropped) way_home_.give_up();
}

void awaited_operation::drop() noexcept {
    starting& here = started_here();
    if (here.begun == this)
        here.is_dropped = true;
    else
        way_home_.abandon();
}

} // namespace ekiden::inline EKIDEN_ABI::detail

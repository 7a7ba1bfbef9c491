#include <ekiden/async/use_awaitable.hpp>

#include <ekiden/sys/thread.hpp>

#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

namespace {

/// Records which operation this thread is starting. The record is thread-local and not a part of the
/// operation, because the operation may be destroyed during its start.
struct starting {
    const awaited_operation* begun = nullptr;
    bool is_dropped = false;
};

EKIDEN_NOINLINE starting& started_here() noexcept { return sys::local<starting>(); }

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
        start(argument); // if start() throws, the coroutine gets the exception
        is_dropped = started_here().is_dropped;
    }
    // give_up() is not called inside start(), because the coroutine is not suspended before start_by()
    // returns.
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

// expect: ekiden: co_spawn: pass a coroutine, another awaitable, or a callable
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/loop/loop_context.hpp>

void wrong(ekiden::loop_context& loop) {
    co_spawn(loop, [] { return 1; });
}

// expect: ekiden: co_spawn: what is spawned is a coroutine or another awaitable
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/loop/loop_context.hpp>

void wrong(ekiden::loop_context& loop) {
    co_spawn(loop, [] { return 1; });
}

// expect: ekiden: task_group::spawn: the callable returns a coroutine
#include <ekiden/async/coroutine.hpp>
#include <ekiden/fork/task_group.hpp>

void wrong(ekiden::task_group& group) {
    group.spawn([]() -> ekiden::coroutine<> { co_return; });
}

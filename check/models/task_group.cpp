// task_group: wait() against the end of the last task.
#include <check/models/pool_model.hpp>

#include <ekiden/fork/task_group.hpp>
#include <ekiden/pool/thread_pool.hpp>

using namespace ekiden;

POOL_MODEL(group_wait, .about = "what the tasks of a group did is visible after wait", .preemptions = 1,
           .spurious = 0, .timeouts = 0) {
    sys::cell<int> written{0};
    thread_pool pool({.threads = 1});
    task_group group(pool);
    group.run([&written] { written.write(1); });
    group.wait();
    check::that(written.read() == 1, "the write");
}

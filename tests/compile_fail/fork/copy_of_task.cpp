// expect: ekiden: task_group::spawn keeps a copy of the callable
#include <ekiden/fork/task_group.hpp>

#include <memory>

void wrong(ekiden::task_group& group) {
    auto task = [owned = std::make_unique<int>(1)] {};
    group.spawn(task);
}

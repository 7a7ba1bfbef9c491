// expect: ekiden: task_group::spawn takes a callable without parameters, or with one of type std::stop_token
#include <ekiden/fork/task_group.hpp>

void wrong(ekiden::task_group& group) {
    group.spawn([](int) {});
}

// expect: ekiden: parallel_for\(first, last, body\): body must be callable as body\(i\) or body\(scope, i\)
#include <ekiden/fork/parallel_for.hpp>

void wrong(ekiden::fork_scope& scope) {
    ekiden::parallel_for(scope, 0, 5, [](int, ekiden::fork_scope&) {});
}

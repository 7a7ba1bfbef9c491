// expect: ekiden: parallel_for\(first, last, body\): the bounds must be integers of at most 64 bits, and not
// bool
#include <ekiden/fork/parallel_for.hpp>

void wrong(ekiden::fork_scope& scope) {
    ekiden::parallel_for(scope, false, 5U, [](ekiden::fork_scope&, unsigned) {});
}

// expect: ekiden: parallel_for\(first, last, body\): both bounds must be signed or both unsigned
#include <ekiden/fork/parallel_for.hpp>

void wrong(ekiden::fork_scope& scope) {
    ekiden::parallel_for(scope, -3, 5U, [](ekiden::fork_scope&, int) {});
}

// expect: ekiden: parallel_for\(first, last, body\): both bounds must be signed or both unsigned
#include <ekiden/fork/parallel_for.hpp>

void wrong() {
    ekiden::parallel_for(-3, 5U, [](int) {});
}

// expect: ekiden: parallel_for\(first, last, body\): the bounds must be integers of at most 64 bits, and not
// bool
#include <ekiden/fork/parallel_for.hpp>

void wrong() {
    ekiden::parallel_for(false, true, [](bool) {});
}

// expect: ekiden: parallel_reduce\(first, last, \.\.\.\): the bounds must be integers of at most 64 bits, and not
// bool
#include <ekiden/fork/parallel_reduce.hpp>

int wrong() {
    return ekiden::parallel_reduce(0, true, 0, [](int i) { return i; });
}

// expect: ekiden: parallel_reduce\(first, last, \.\.\.\): both bounds must be signed or both unsigned
#include <ekiden/fork/parallel_reduce.hpp>

int wrong() {
    return ekiden::parallel_reduce(-3, 5U, 0, [](int i) { return i; }, std::plus<>());
}

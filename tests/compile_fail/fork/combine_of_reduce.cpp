// expect: ekiden: parallel_reduce: combine must be callable as combine\(T, mapped\) and return a T
#include <ekiden/fork/parallel_reduce.hpp>

int wrong() {
    return ekiden::parallel_reduce(0, 5, 0, [](int i) { return i; }, [](int) { return 0; });
}

// expect: ekiden: parallel_reduce: map must be callable as map\(element\)
#include <ekiden/fork/parallel_reduce.hpp>

int wrong() {
    return ekiden::parallel_reduce(0, 5, 0, [] { return 1; }, std::plus<>());
}

// expect: ekiden: parallel_reduce: map must be callable as map\(element\)
#include <ekiden/fork/parallel_reduce.hpp>

#include <functional>
#include <vector>

long wrong(const std::vector<int>& all) {
    return ekiden::parallel_reduce(all, 0L, std::plus<>(), [](int n) { return n * 2L; });
}

// expect: ekiden: parallel_reduce: combine must be callable as combine\(T, T\) and return a T
#include <ekiden/fork/parallel_reduce.hpp>

#include <functional>
#include <string>
#include <vector>

// Counts, but does not say how two counts become one.
long wrong(const std::vector<std::string>& all) {
    return ekiden::parallel_reduce(all, 0L, std::identity(),
                                   [](long count, const std::string&) { return count + 1; });
}

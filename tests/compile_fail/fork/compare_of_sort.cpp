// expect: ekiden: parallel_sort: compare must be callable as compare\(a, b\) with two elements
#include <ekiden/fork/parallel_sort.hpp>

#include <vector>

struct incomparable {};

void wrong(std::vector<incomparable>& all) { ekiden::parallel_sort(all); }

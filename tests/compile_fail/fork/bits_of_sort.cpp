// expect: ekiden: parallel_sort: two threads must not write to neighboring elements of a std::vector<bool>
#include <ekiden/fork/parallel_sort.hpp>

#include <vector>

void wrong(std::vector<bool>& bits) { ekiden::parallel_sort(bits); }

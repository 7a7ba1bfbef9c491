// expect: ekiden: parallel_for_each: two threads must not write to neighboring elements of a
// std::vector<bool>
#include <ekiden/fork/parallel_for_each.hpp>

#include <vector>

void wrong(std::vector<bool>& bits) {
    ekiden::parallel_for_each(bits, [](std::vector<bool>::reference bit) { bit = true; });
}

// expect: ekiden: parallel_transform: two threads must not write to neighboring elements of a
// std::vector<bool>
#include <ekiden/fork/parallel_transform.hpp>

#include <vector>

void wrong(const std::vector<int>& numbers, std::vector<bool>& bits) {
    ekiden::parallel_transform(numbers, bits.begin(), [](int n) { return n > 0; });
}

// expect: ekiden: parallel_transform: the operation must be callable as operation\(element\)
#include <ekiden/fork/parallel_transform.hpp>

#include <vector>

void wrong(std::vector<int>& all) {
    ekiden::parallel_transform(all, all.begin(), [](int) {});
}

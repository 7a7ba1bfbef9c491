// expect: ekiden: parallel_for_each: the body must be callable as body\(element\)
#include <ekiden/fork/parallel_for_each.hpp>

void wrong(std::vector<int>& all) {
    ekiden::parallel_for_each(all, [] {});
}

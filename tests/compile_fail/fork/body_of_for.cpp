// expect: ekiden: parallel_for\(first, last, body\): body must be callable as body\(i\)
#include <ekiden/fork/parallel_for.hpp>

#include <string>

void wrong() {
    ekiden::parallel_for(0, 5, [](const std::string&) {});
}

// expect: ekiden: post_bulk: the callable takes the number of the call, or nothing
#include <ekiden/pool/thread_pool.hpp>

#include <string>

void f(ekiden::thread_pool& pool) {
    pool.post_bulk(4, [](std::string) {});
}

// expect: ekiden: the completion token is no handler for this operation
#include <ekiden/execution/post.hpp>
#include <ekiden/pool/thread_pool.hpp>

int main() {
    ekiden::thread_pool pool(1);
    ekiden::post(pool, [](int) {});
}

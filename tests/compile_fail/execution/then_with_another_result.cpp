// expect: ekiden: then: the function takes the result of the future
#include <ekiden/execution/then.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <string>

int main() {
    ekiden::thread_pool pool(1);
    pool.submit([] { return 1; }).then(pool.get_executor(), [](std::string) {});
}

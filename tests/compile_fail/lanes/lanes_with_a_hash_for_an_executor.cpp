// expect: ekiden: lanes: the second argument is an executor; a hash is the third
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <functional>

int main() {
    ekiden::thread_pool pool(1);
    const ekiden::lanes<int, std::hash<int>> lanes(pool.get_executor());
}

// A source of the same program that includes headers. It shares objects with the source that imports the
// module.
#include <ekiden/pool.hpp>

int double_in(ekiden::thread_pool& pool, int n) {
    return pool.submit([n] { return 2 * n; }).get();
}

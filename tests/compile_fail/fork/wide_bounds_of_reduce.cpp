// expect: ekiden: parallel_reduce.*the bounds must be integers of at most 64 bits
// flags: -std=gnu++20
#include <ekiden/fork/parallel_reduce.hpp>

#include <functional>

int wrong(__int128 n) {
    return ekiden::parallel_reduce(__int128(0), n, 0, [](__int128) { return 1; }, std::plus<>());
}

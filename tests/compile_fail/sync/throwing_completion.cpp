// expect: barrier: the completion function must be callable without arguments and noexcept
#include <ekiden/sync/barrier.hpp>

int rounds = 0;
ekiden::barrier wrong(3, [] { ++rounds; });

// expect: ekiden: the result of a future is void, a reference, or an object type that is no array
#include <ekiden/future/promise.hpp>

ekiden::promise<int[3]> wrong;

// expect: ekiden: when_any: of no futures none is ever ready
#include <ekiden/future/when_any.hpp>

int main() { (void)ekiden::when_any(); }

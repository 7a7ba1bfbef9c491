// expect: ekiden needs exceptions: compile without -fno-exceptions
// flags: -fno-exceptions -Wfatal-errors
#include <ekiden/ekiden.hpp>

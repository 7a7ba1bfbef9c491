// expect: ekiden needs C..20: compile with -std=c..20
// flags: -std=c++17 -Wfatal-errors
#include <ekiden/ekiden.hpp>

// expect: ekiden needs std::stop_token: with libc.. before 20, compile with -fexperimental-library
// flags: -stdlib=libc++ -Wfatal-errors
#include <ekiden/ekiden.hpp>

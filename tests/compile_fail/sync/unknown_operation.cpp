// expect: the transition table has no such operation
#include "table.hpp"

void wrong() {
    ekiden::state_mutex<good> m;
    m.enter<static_cast<op>(7)>().leave<slot::some>();
}

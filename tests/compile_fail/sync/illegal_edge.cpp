// expect: the transition table has no such transition
#include "table.hpp"

void wrong() {
    ekiden::state_mutex<good> m;
    m.enter<op::get>().leave<slot::full>();
}

// expect: the transition table has no such operation
#include "table.hpp"

enum class other { put };

void wrong() {
    ekiden::state_mutex<good> m;
    m.enter<other::put>().leave<slot::some>();
}

// expect: in some state no operation can ever begin
#include "table.hpp"

constexpr ekiden::state_table<slot, op, 2> table{
    slot::empty, {{op::put, slot::empty, {slot::some, slot::full}}, {op::get, slot::some, slot::empty}}};

ekiden::state_mutex<table> wrong;

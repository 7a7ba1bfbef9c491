// expect: state_table: the number of rows is not the one that is declared
#include "table.hpp"

constexpr ekiden::state_table<slot, op, 3> table{
    slot::empty,
    {{op::put, {slot::empty, slot::some}, {slot::some, slot::full}},
     {op::get, {slot::some, slot::full}, {slot::some, slot::empty}}}};

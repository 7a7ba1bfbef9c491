// expect: a state cannot be reached from the initial one
#include "table.hpp"

constexpr auto table = ekiden::make_state_table<slot, op>(
    slot::empty, {{op::put, slot::empty, slot::some}, {op::get, {slot::some, slot::full}, slot::empty}});

ekiden::state_mutex<table> wrong;

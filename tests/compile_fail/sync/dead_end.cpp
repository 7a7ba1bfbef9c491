// expect: in some state no operation can ever begin
#include "table.hpp"

constexpr auto table = ekiden::make_state_table<slot, op>(
    slot::empty, {{op::put, slot::empty, {slot::some, slot::full}}, {op::get, slot::some, slot::empty}});

ekiden::state_mutex<table> wrong;

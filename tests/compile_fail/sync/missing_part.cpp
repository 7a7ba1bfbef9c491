// expect: each state part of exactly one state of its parent
#include "table.hpp"

enum class mark { empty, low, high, full };

constexpr auto table = ekiden::make_refined_table<good, mark, op>(
    mark::empty, {{slot::empty, mark::empty}, {slot::some, mark::low}, {slot::full, mark::full}},
    {{op::put, mark::low, mark::high}});

ekiden::state_mutex<table, mark (*)(slot)> wrong(nullptr);

/// A good table and a good use, for the files here to break.
#pragma once

#include <ekiden/sync/state_mutex.hpp>

enum class slot { empty, some, full };
enum class op { put, get };

inline constexpr auto good = ekiden::make_state_table<slot, op>(
    slot::empty, {{op::put, {slot::empty, slot::some}, {slot::some, slot::full}},
                  {op::get, {slot::some, slot::full}, {slot::some, slot::empty}}});

inline void use() {
    ekiden::state_mutex<good> m;
    m.enter<op::put>().leave<slot::some>();
}

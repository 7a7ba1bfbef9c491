/// The wait of a post until there is room for its task.
///
/// Part: lanes. Used by: lanes_state.
#pragma once

#include <ekiden/lanes/detail/lanes_state.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// The wait of a post for room in one lane, and for room in all lanes.
struct lanes_state::post_wait {
    lane_waiter in_lane;
    lane_waiter in_all;
    bool for_lane = false; // `in_lane` is in a list
    bool for_all = false;

    void run() {
        if (for_lane) in_lane.is_done.get();
        if (for_all) in_all.is_done.get();
    }
};

} // namespace ekiden::inline EKIDEN_ABI

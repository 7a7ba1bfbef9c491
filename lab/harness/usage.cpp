#include <lab/harness/system.hpp>
#include <lab/harness/usage.hpp>

namespace lab {

usage usage_now() {
    const process_usage used = process_usage_now();
    return {.wall_s = static_cast<double>(now_ns()) * 1e-9,
            .user_s = used.user_s,
            .system_s = used.system_s,
            .voluntary_switches = used.voluntary_switches,
            .involuntary_switches = used.involuntary_switches};
}

usage operator-(const usage& end, const usage& begin) {
    return {.wall_s = end.wall_s - begin.wall_s,
            .user_s = end.user_s - begin.user_s,
            .system_s = end.system_s - begin.system_s,
            .voluntary_switches = end.voluntary_switches - begin.voluntary_switches,
            .involuntary_switches = end.involuntary_switches - begin.involuntary_switches};
}

} // namespace lab

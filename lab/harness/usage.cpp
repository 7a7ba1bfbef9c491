#include <lab/harness/usage.hpp>

#include <sys/resource.h>

namespace lab {
namespace {

double seconds(const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

} // namespace

usage usage_now() {
    rusage r{};
    getrusage(RUSAGE_SELF, &r);
    return {.wall_s = static_cast<double>(now_ns()) * 1e-9,
            .user_s = seconds(r.ru_utime),
            .system_s = seconds(r.ru_stime),
            .voluntary_switches = static_cast<double>(r.ru_nvcsw),
            .involuntary_switches = static_cast<double>(r.ru_nivcsw)};
}

usage operator-(const usage& end, const usage& begin) {
    return {.wall_s = end.wall_s - begin.wall_s,
            .user_s = end.user_s - begin.user_s,
            .system_s = end.system_s - begin.system_s,
            .voluntary_switches = end.voluntary_switches - begin.voluntary_switches,
            .involuntary_switches = end.involuntary_switches - begin.involuntary_switches};
}

} // namespace lab

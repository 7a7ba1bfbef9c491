#include <lab/harness/affinity.hpp>
#include <lab/harness/disturbance.hpp>
#include <lab/harness/interrupt.hpp>
#include <lab/harness/usage.hpp>

#include <fstream>
#include <iterator>
#include <sys/resource.h>
#include <unistd.h>

namespace lab {
namespace {

std::string stat_now() {
    std::ifstream file("/proc/stat");
    return {std::istreambuf_iterator<char>(file), {}};
}

double own_s_now() {
    double sum = 0;
    for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
        rusage r{};
        getrusage(who, &r);
        for (const timeval& t : {r.ru_utime, r.ru_stime})
            sum += static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    }
    return sum;
}

} // namespace

std::optional<double> watch_others(double seconds) {
    const std::string before = stat_now();
    const double began_s = usage_now().wall_s;
    const double own_s = own_s_now();
    sleep_unless_interrupted(seconds);
    if (interrupted()) return std::nullopt;
    return used_by_others(before, stat_now(), usable_cpus(), static_cast<double>(sysconf(_SC_CLK_TCK)),
                          usage_now().wall_s - began_s, own_s_now() - own_s);
}

} // namespace lab

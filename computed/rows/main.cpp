// Measures rows and prints them as JSON, one object a line. Each figure comes from a process of its own.
//
//     ekiden-rows     --list
//     ekiden-rows     --cores N [--row TEXT] [--system TEXT] [--rounds R] [--scale X]
//     ekiden-computed --table FILE --cores N [--row TEXT] [--system TEXT] [--scale X] [--seed N] [--profile]
#include <computed/rows/row.hpp>

#if defined(EKIDEN_TIMED)
#include <computed/engine/engine.hpp>
#endif

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>

namespace {

using namespace ekiden::rows;

struct asked {
    std::string table, row_name, system;
    unsigned cores = 0, rounds = 1;
    double scale = 1;
    unsigned seed = 0;
    bool list = false, profile = false;
};

#if defined(EKIDEN_TIMED)
/// Prints the lines for which the cores have waited longest, each with the places in the program that waited.
/// Heavy fences count as a line.
/// addr2line finds the names of the places.
void print_stalls(const ekiden::computed::engine& machine) {
    using stall = ekiden::computed::engine::stall;
    std::vector<stall> all = machine.stalls();
    std::map<const void*, stall> of_line;
    for (const stall& one : all) {
        stall& sum = of_line[one.line];
        sum.line = one.line, sum.count += one.count, sum.length += one.length;
    }
    const auto longer = [](const stall& one, const stall& other) { return one.length > other.length; };
    std::vector<stall> lines;
    for (const auto& [at, sum] : of_line) lines.push_back(sum);
    std::sort(lines.begin(), lines.end(), longer);
    std::sort(all.begin(), all.end(), longer);
    constexpr std::size_t most_lines = 8, most_sites = 4;
    lines.resize(std::min(lines.size(), most_lines));
    const auto print = [](const char* what, const void* at, const stall& it) {
        std::fprintf(stderr, "%s %p: %.0f us in %llu waits", what, at, static_cast<double>(it.length) / 1e6,
                     static_cast<unsigned long long>(it.count));
    };
    for (const stall& line : lines) {
        print(line.line != nullptr ? "line" : "heavy fences", line.line, line);
        std::fputc('\n', stderr);
        std::size_t printed = 0;
        for (const stall& one : all) {
            if (one.line != line.line || printed == most_sites) continue;
            ++printed;
            print("    at", one.site, one);
            char command[120];
            std::snprintf(command, sizeof command, "addr2line -is -e /proc/%d/exe %p | tr '\\n' ' ' >&2",
                          ::getpid(), static_cast<const void*>(static_cast<const char*>(one.site) - 1));
            std::fputs("  ", stderr);
            std::fflush(stderr);
            (void)!std::system(command);
            std::fputc('\n', stderr);
        }
    }
}
#endif

double figure_of(const row& it, const asked& how) {
    const setting with{how.cores, how.scale};
#if defined(EKIDEN_TIMED)
    double found = 0;
    ekiden::computed::engine machine(ekiden::computed::read_machine(how.table), how.cores, how.seed);
    if (how.profile) machine.profile();
    machine.run([&] { found = it.run(with); });
    if (how.profile) print_stalls(machine);
    return found;
#else
    return it.run(with);
#endif
}

/// Returns false if the process of the row failed.
bool measure_in_child(const row& it, const asked& how) {
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child < 0) return false;
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL); // a caller with a limit ends only the parent
        try {
            const double ns = figure_of(it, how);
            std::printf(
                "{\"row\": \"%s\", \"system\": \"%s\", \"cores\": %u, \"ns\": %.17g, \"ideal_ns\": %g}\n",
                it.name.c_str(), it.system.c_str(), how.cores, ns, it.ideal_ns);
            std::fflush(stdout);
            ::_exit(0);
        } catch (const std::exception& problem) {
            std::fprintf(stderr, "%s: %s\n", it.name.c_str(), problem.what());
            ::_exit(1);
        }
    }
    int status = 0;
    return ::waitpid(child, &status, 0) == child && status == 0;
}

bool parse(int count, char** words, asked& how) {
    for (int i = 1; i < count; ++i) {
        const std::string name = words[i];
        if (name == "--list" || name == "--profile") {
            (name == "--list" ? how.list : how.profile) = true;
            continue;
        }
        if (i + 1 == count) return false;
        const char* const value = words[++i];
        if (name == "--table")
            how.table = value;
        else if (name == "--row")
            how.row_name = value;
        else if (name == "--system")
            how.system = value;
        else if (name == "--cores")
            how.cores = static_cast<unsigned>(std::atoi(value));
        else if (name == "--rounds")
            how.rounds = static_cast<unsigned>(std::atoi(value));
        else if (name == "--seed")
            how.seed = static_cast<unsigned>(std::atoi(value));
        else if (name == "--scale")
            how.scale = std::atof(value);
        else
            return false;
    }
    return how.list || (how.cores != 0 && how.cores <= 128);
}

} // namespace

int main(int count, char** words) {
    asked how;
    if (!parse(count, words, how)) {
        std::fprintf(stderr,
                     "usage: %s --list | [--table FILE] --cores N [--row TEXT] [--system TEXT]"
                     " [--rounds R] [--scale X] [--seed N] [--profile]\n",
                     words[0]);
        return 2;
    }
    bool well = true;
    for (unsigned round = 0; round != how.rounds; ++round) {
        for (const row& one : all()) {
            if (how.list) std::printf("%s\t%s\n", one.name.c_str(), one.system.c_str());
            if (how.list || (!how.row_name.empty() && one.name.find(how.row_name) == std::string::npos)
                || (!how.system.empty() && one.system != how.system))
                continue;
            if (measure_in_child(one, how)) continue;
            std::fprintf(stderr, "ekiden: the row '%s' of '%s' failed\n", one.name.c_str(),
                         one.system.c_str());
            well = false;
        }
    }
    return well ? 0 : 1;
}

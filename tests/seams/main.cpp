// A fuzz test of the seams: random programs from the public interface, with exact accounts of each callable.
//
// Each program is a plan (plan.hpp). A child process (runner.hpp) runs many plans one after the other, and
// its parent watches it. A failure names its seed. `seams --seed N` runs that program again.
//
// Each eighth program runs in virtual time (simulated.cpp), where the seed also chooses the schedules. Each
// 64th program is one that the library forbids. It must end with the message that explains this
// (special.cpp).
#include "plan.hpp"
#include "runner.hpp"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

namespace seams {

namespace {

struct arguments {
    batch run{0, ~0ULL, 1, 0, false};
    std::uint64_t replayed = 0;
    bool is_replay = false;
    bool is_survey = false; ///< continues after a failure
    bool shows = false;
    double shrinks = 60; ///< time limit in seconds
};

[[noreturn]] void usage() {
    std::fprintf(
        stderr,
        "usage: seams [--first N | --clock] [--programs N] [--seconds N] [--without NAME,...] [--with "
        "NAME,...]\n             [--survey]\n"
        "       seams --seed N [--repeat N] [--mask N,...] [--without NAME,...] [--show] [--stacks]\n"
        "       --shrink SECONDS: how long a failure is made smaller\n"
        "names: %s\n",
        all_names().c_str());
    std::exit(2);
}

std::uint64_t number(const char* text) {
    std::uint64_t value = 0;
    const char* const end = text + std::strlen(text);
    if (std::from_chars(text, end, value).ptr != end || text == end) usage();
    return value;
}

template <class Use>
void each_name(std::string_view names, Use use) {
    while (!names.empty()) {
        const std::size_t comma = std::min(names.find(','), names.size());
        use(std::string(names.substr(0, comma)));
        names.remove_prefix(std::min(comma + 1, names.size()));
    }
}

arguments parse(int argc, char** argv) {
    arguments a;
    const auto value = [&](int& i) { return i + 1 < argc ? argv[++i] : (usage(), nullptr); };
    for (int i = 1; i < argc; ++i) {
        const std::string_view name = argv[i];
        if (name == "--seed")
            a.is_replay = true, a.run.first = number(value(i));
        else if (name == "--first")
            a.run.first = number(value(i));
        else if (name == "--clock")
            a.run.first =
                static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count())
                / 1000;
        else if (name == "--programs")
            a.run.count = number(value(i));
        else if (name == "--seconds")
            a.run.seconds = static_cast<double>(number(value(i)));
        else if (name == "--repeat")
            a.run.repeats = static_cast<unsigned>(number(value(i)));
        else if (name == "--shrink")
            a.shrinks = static_cast<double>(number(value(i)));
        else if (name == "--survey")
            a.is_survey = true;
        else if (name == "--show")
            a.shows = true;
        else if (name == "--stacks")
            a.run.shows_stacks = true;
        else if (name == "--without" || name == "--with")
            each_name(value(i), [name](const std::string& n) {
                if (!chosen().turn(n, name == "--without")) usage();
            });
        else if (name == "--mask")
            each_name(value(i), [](const std::string& n) {
                chosen().masked.insert(static_cast<unsigned>(number(n.c_str())));
            });
        else
            usage();
    }
    if (a.run.seconds == 0 && a.run.count == ~0ULL) a.run.seconds = 10;
    if (a.is_replay) a.run.count = 1, a.run.seconds = 0;
    return a;
}

void report(const outcome& o, double seconds) {
    std::printf("seams: seed %llu fails: %s\n", static_cast<unsigned long long>(o.seed), o.what.c_str());
    if (seconds > 0) {
        (void)shrink(o.seed, o.what, seconds);
        std::string mask;
        for (const unsigned i : chosen().masked) mask += (mask.empty() ? "" : ",") + std::to_string(i);
        std::printf("seams: again with: seams --seed %llu --repeat 3000%s%s\n",
                    static_cast<unsigned long long>(o.seed), mask.empty() ? "" : " --mask ", mask.c_str());
    }
    std::printf("%s", text_of(make_plan(o.seed, size_of(o.seed))).c_str());
    std::fflush(stdout);
}

int replay(const arguments& a) {
    if (a.shows) std::printf("%s", text_of(make_plan(a.run.first, size_of(a.run.first))).c_str());
    const outcome o = run_batch(a.run);
    std::printf("seams: seed %llu, %llu runs: %s\n", static_cast<unsigned long long>(a.run.first),
                static_cast<unsigned long long>(o.runs), o.is_good ? "good" : o.what.c_str());
    return o.is_good ? 0 : 1;
}

/// Continues after each failure, and counts the failures by their kind.
int survey(const arguments& a) {
    std::map<std::string, std::pair<unsigned, std::uint64_t>> found;
    batch next = a.run;
    const auto begin = std::chrono::steady_clock::now();
    std::uint64_t runs = 0;
    for (;;) {
        const double used = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        if (a.run.seconds != 0 && used > a.run.seconds) break;
        if (a.run.seconds != 0) next.seconds = a.run.seconds - used;
        const outcome o = run_batch(next);
        runs += o.runs;
        if (o.is_good) break;
        std::printf("seed %llu: %s\n", static_cast<unsigned long long>(o.seed), o.what.c_str());
        std::fflush(stdout);
        auto& entry = found[class_of(o.what)];
        if (entry.first++ == 0) entry.second = o.seed;
        if (a.run.count != ~0ULL) next.count -= std::min(next.count, o.seed + 1 - next.first);
        next.first = o.seed + 1;
    }
    std::printf("seams: %llu programs\n", static_cast<unsigned long long>(runs));
    for (const auto& [what, n] : found)
        std::printf("%6u x, first seed %llu: %s\n", n.first, static_cast<unsigned long long>(n.second),
                    what.c_str());
    return found.empty() ? 0 : 1;
}

} // namespace

} // namespace seams

int main(int argc, char** argv) {
    using namespace seams;
    const arguments a = parse(argc, argv);
    if (a.is_replay) return replay(a);
    if (a.is_survey) return survey(a);
    std::printf("seams: from seed %llu\n", static_cast<unsigned long long>(a.run.first));
    std::fflush(stdout);
    const outcome o = run_batch(a.run);
    if (!o.is_good) {
        report(o, a.shrinks);
        return 1;
    }
    std::printf("seams: %llu programs, all accounts right\n", static_cast<unsigned long long>(o.runs));
    return 0;
}

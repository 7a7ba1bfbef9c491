#include "runner.hpp"

#include "plan.hpp"
#include "world.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <new>
#include <sstream>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace seams {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

double seconds_since(clock::time_point then) {
    return std::chrono::duration<double>(clock::now() - then).count();
}

// ---- in the child

unsigned count_threads() {
    unsigned count = 0;
    if (::DIR* const folder = ::opendir("/proc/self/task")) {
        while (const ::dirent* const e = ::readdir(folder)) count += e->d_name[0] != '.' ? 1 : 0;
        ::closedir(folder);
    }
    return count;
}

/// Returns the number of threads before a program. A sanitizer may have its own threads from the first thread
/// on.
unsigned usual_threads() {
    std::thread([] {}).join();
    unsigned count = count_threads();
    for (unsigned same = 0; same != 10;) {
        ::usleep(500);
        const unsigned now = count_threads();
        same = now == count ? same + 1 : 0;
        count = now;
    }
    return count;
}

/// Waits until the number of threads is as before, because a joined thread may still be listed for a moment.
void expect_threads(unsigned before) {
    for (unsigned tries = 0; count_threads() > before; ++tries) {
        if (tries == 3000) fail("threads are left", nullptr, count_threads() - before);
        ::usleep(500);
    }
}

void run_plan(const plan& p) {
    if (p.is_simulated) return run_simulated(p);
    world w(p);
    w.run();
}

[[noreturn]] void run_programs(const batch& b) {
    ::setpgid(0, 0);
    const auto begin = clock::now();
    const unsigned threads = usual_threads();
    for (std::uint64_t seed = b.first; seed != b.first + b.count; ++seed) {
        page().seed = seed;
        if (b.seconds != 0 && seconds_since(begin) > b.seconds) break;
        const plan p = make_plan(seed, size_of(seed));
        for (unsigned i = 0; i != b.repeats; ++i) {
            if (!run_special(seed)) run_plan(p);
            expect_threads(threads);
            page().programs.fetch_add(1);
        }
    }
    ::_exit(0);
}

// ---- in the parent

/// Whether all threads of the process sleep, and the processor time that it has used, in ticks.
struct observation {
    bool sleeps = true;
    unsigned long long time = 0;
};

/// Returns the content of a file. Empty if the thread has ended.
std::string content_of(const std::string& path) {
    std::string text;
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return text;
    std::array<char, 1024> piece{};
    for (::ssize_t n = 0; (n = ::read(file, piece.data(), piece.size())) > 0;)
        text.append(piece.data(), static_cast<std::size_t>(n));
    ::close(file);
    return text;
}

/// Returns the fields of a `stat` after the name, which may contain anything.
std::istringstream stat_of(const std::string& folder) {
    const std::string text = content_of(folder + "/stat");
    const std::size_t name_end = text.rfind(')');
    return std::istringstream(name_end == std::string::npos ? std::string() : text.substr(name_end + 2));
}

void add(observation& seen, const std::string& process) {
    // Uses the time of the process, because it includes the time of threads that have ended.
    std::istringstream whole = stat_of(process);
    std::string skipped;
    for (int i = 0; i != 11; ++i) whole >> skipped;
    for (int i = 0; i != 4; ++i) { // user and system time, of the process and its children
        unsigned long long ticks = 0;
        whole >> ticks;
        seen.time += ticks;
    }
    const std::string folder = process + "/task";
    ::DIR* const tasks = ::opendir(folder.c_str());
    if (tasks == nullptr) return;
    while (const ::dirent* const e = ::readdir(tasks)) {
        if (e->d_name[0] == '.') continue;
        const std::string thread = folder + "/" + e->d_name;
        std::string state;
        if (!(stat_of(thread) >> state)) continue;
        seen.sleeps = seen.sleeps && (state == "S" || state == "Z");
    }
    ::closedir(tasks);
}

observation look_at(::pid_t process) {
    observation seen;
    add(seen, "/proc/" + std::to_string(process));
    return seen;
}

/// Returns whether all threads of the group's processes sleep. The group has the program and its forked
/// children.
bool all_sleep_in_group(::pid_t group) {
    observation seen;
    ::DIR* const processes = ::opendir("/proc");
    if (processes == nullptr) return true;
    while (const ::dirent* const e = ::readdir(processes)) {
        if (e->d_name[0] < '1' || e->d_name[0] > '9') continue;
        const std::string folder = std::string("/proc/") + e->d_name;
        std::string state;
        ::pid_t parent = 0;
        ::pid_t its_group = 0;
        if (stat_of(folder) >> state >> parent >> its_group && its_group == group) add(seen, folder);
    }
    ::closedir(processes);
    return seen.sleeps;
}

/// Watches for progress. A program makes no progress if all its threads stay asleep, or if it uses a
/// processor for long without an action. Time that it waits for a processor does not count.
class progress_watch {
public:
    explicit progress_watch(::pid_t process) noexcept : process_(process) {}

    [[nodiscard]] const char* is_stuck() {
        const std::uint64_t now = page().progress.load() + page().programs.load() * 1000003;
        const observation seen = look_at(process_);
        if (now != last_) {
            last_ = now;
            asleep_ = 0;
            time_ = seen.time;
            return nullptr;
        }
        constexpr unsigned most_asleep = 40;
        // Reading all processes is expensive, so it is done late.
        const bool sleeps = seen.sleeps && (asleep_ < most_asleep / 2 || all_sleep_in_group(process_));
        asleep_ = sleeps ? asleep_ + 1 : 0;
        if (asleep_ >= most_asleep) return "no progress: all threads sleep";
        static const auto tick = static_cast<unsigned long long>(::sysconf(_SC_CLK_TCK));
        if (seen.time > time_ + 2 * tick) return "no progress: threads spin";
        return nullptr;
    }

private:
    const ::pid_t process_;
    std::uint64_t last_ = 0;
    unsigned asleep_ = 0;
    unsigned long long time_ = 0;
};

std::string ended_badly(int status) {
    if (page().has_failed) return page().message.data();
    if (WIFSIGNALED(status)) return std::string("ended by signal ") + ::strsignal(WTERMSIG(status));
    return "ended with status " + std::to_string(WEXITSTATUS(status));
}

} // namespace

unsigned size_of(std::uint64_t seed) noexcept { return seed % 4 == 3 ? 30 : 8; }

outcome run_batch(const batch& b) {
    if (page_pointer() == nullptr) {
        void* const memory =
            ::mmap(nullptr, sizeof(shared_page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) std::abort();
        page_pointer() = new (memory) shared_page;
    }
    page().has_failed = false;
    page().programs = 0;
    page().seed = b.first;
    std::fflush(nullptr);
    const ::pid_t child = ::fork();
    if (child < 0) std::abort();
    if (child == 0) run_programs(b);
    progress_watch watch(child);
    outcome result;
    for (unsigned turn = 0;; ++turn) {
        int status = 0;
        if (::waitpid(child, &status, WNOHANG) == child) {
            result.is_good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
            if (!result.is_good) result.what = ended_badly(status);
            break;
        }
        ::usleep(turn < 20 ? 500 : 10'000);
        if (turn < 20) continue;
        if (const char* const stuck = watch.is_stuck()) {
            result.is_good = false;
            result.what = stuck;
            if (b.shows_stacks)
                (void)std::system(
                    ("gdb -p " + std::to_string(child)
                     + " -batch -ex 'thread apply all bt 14' 2>/dev/null | grep -v '^\\[New\\|warning'")
                        .c_str());
            ::kill(-child, SIGKILL);
            ::kill(child, SIGKILL);
            ::waitpid(child, &status, 0);
            break;
        }
    }
    result.seed = page().seed;
    result.runs = page().programs;
    return result;
}

std::string class_of(const std::string& what) { return what.substr(0, what.find(": action")); }

std::set<unsigned> shrink(std::uint64_t seed, const std::string& what, double seconds) {
    const auto begin = clock::now();
    switches& s = chosen();
    const auto fails = [&](unsigned repeats) {
        const outcome o = run_batch({seed, 1, repeats, 0});
        return !o.is_good && class_of(o.what) == class_of(what);
    };
    outcome first = run_batch({seed, 1, 3000, 0});
    if (first.is_good) return s.masked;
    const unsigned repeats = std::min(5000U, 40 + 6 * static_cast<unsigned>(first.runs));
    const unsigned actions = make_plan(seed, size_of(seed)).actions;
    bool has_changed = true;
    while (has_changed && seconds_since(begin) < seconds) {
        has_changed = false;
        for (unsigned i = actions; i-- != 0 && seconds_since(begin) < seconds;) {
            if (!s.masked.insert(i).second) continue;
            if (fails(repeats))
                has_changed = true;
            else
                s.masked.erase(i);
        }
    }
    return s.masked;
}

} // namespace seams

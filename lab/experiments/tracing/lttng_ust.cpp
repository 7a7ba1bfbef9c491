#include <lab/experiments/tracing/tracing.hpp>
#include <lab/harness/registry.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lab::tracing {
namespace {

namespace fs = std::filesystem;

/// Records into a session whose buffers keep the newest events, like ekiden's rings. Starts a session daemon
/// unless the system has one.
class lttng_ust {
public:
    explicit lttng_ust(const cell& c) {
        std::string pattern = (fs::temp_directory_path() / "ekiden-lab-lttng-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) c.fail("no folder for the trace");
        folder_ = pattern;
        ::setenv("LTTNG_HOME", folder_.c_str(), 1); // for a daemon that does not belong to root
        start_daemon();
        if (!is_done("create --snapshot --output=" + folder_.string() + "/trace " + session())
            || !is_done("enable-event --userspace --session=" + session() + " 'ekiden_lab:*'")
            || !is_done("start " + session())) {
            close();
            c.not_applicable("a session of LTTng cannot be started here");
        }
        const auto library = fs::read_symlink("/proc/self/exe").parent_path() / "libekiden-lab-lttng.so";
        void* const loaded = ::dlopen(library.c_str(), RTLD_NOW); // and is known to the daemon then
        if (loaded == nullptr) c.fail(::dlerror());
        find(loaded, "lab_lttng_is_on", is_on_);
        find(loaded, "lab_lttng_moments", moments_);
        find(loaded, "lab_lttng_intervals", intervals_);
        if (!is_on_()) c.fail("the session does not record");
    }

    static void begin() {}
    static void end() {}
    static void end_recording() {}
    void moments(std::size_t n) const { moments_(n); }
    void intervals(std::size_t n) const { intervals_(n); }

    /// Checks that the events were recorded.
    void verify(const cell& c) {
        const bool is_written = is_on_() && is_done("snapshot record --session=" + session());
        std::uintmax_t bytes = 0;
        for (const auto& one : fs::recursive_directory_iterator(folder_))
            bytes += one.is_regular_file() ? one.file_size() : 0;
        close();
        if (!is_written || bytes < 50'000) c.fail("the trace has " + std::to_string(bytes) + " bytes");
    }

private:
    static std::string session() { return "ekiden-lab-" + std::to_string(::getpid()); }
    static bool is_done(const std::string& command) {
        return std::system(("lttng --no-sessiond " + command + " >/dev/null 2>&1").c_str()) == 0;
    }
    template <class F>
    static void find(void* library, const char* name, F& function) {
        function = reinterpret_cast<F>(::dlsym(library, name));
    }

    void start_daemon() {
        if (is_done("list")) return;
        daemon_ = ::fork();
        if (daemon_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGTERM);
            const int nowhere = ::open("/dev/null", O_RDWR);
            for (const int one : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, one);
            ::execlp("lttng-sessiond", "lttng-sessiond", "--no-kernel", nullptr);
            ::_exit(127);
        }
        const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(5);
        while (!is_done("list") && std::chrono::steady_clock::now() < patience)
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    void close() {
        (void)is_done("destroy " + session());
        if (daemon_ > 0) {
            ::kill(daemon_, SIGTERM);
            ::waitpid(daemon_, nullptr, 0);
        }
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }

    fs::path folder_;
    pid_t daemon_ = 0;
    bool (*is_on_)() = nullptr;
    void (*moments_)(std::size_t) = nullptr;
    void (*intervals_)(std::size_t) = nullptr;
};

const bool added =
    add(implementation{.experiment = "tracing",
                       .name = "lttng-ust",
                       .title = "LTTng-UST",
                       .note = "with a session that keeps the newest events; an interval is two "
                               "events",
                       .run = &run<lttng_ust>,
                       .order = 10});

} // namespace
} // namespace lab::tracing

#include <tests/kafka/chaos.hpp>
#include <tests/kafka/traffic.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace kafka_soak {

using namespace std::chrono_literals;

namespace {

double cpu_of(const rusage& used) {
    const auto in_s = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return in_s(used.ru_utime) + in_s(used.ru_stime);
}

std::vector<std::string> words_of(const std::string& text, char separator) {
    std::vector<std::string> words;
    std::istringstream stream(text);
    for (std::string word; std::getline(stream, word, separator);)
        if (!word.empty()) words.push_back(word);
    return words;
}

} // namespace

crew::crew(books& all, std::string journal_path)
    : all_(all), journal_path_(std::move(journal_path)), pids_(all.asked().workers),
      status_(all.asked().workers) {}

crew::~crew() {
    for (std::size_t w = 0; w < pids_.size(); ++w)
        if (pids_[w] != 0) {
            signal(w, SIGKILL);
            reap(w, 0);
        }
}

void crew::start(std::size_t worker) {
    const plan& p = all_.asked();
    std::vector<std::string> words = words_of(p.worker, ' ');
    for (const auto& [name, value] : std::initializer_list<std::pair<const char*, std::string>>{
             {"brokers", p.brokers},
             {"group", p.group},
             {"worker", "w" + std::to_string(worker)},
             {"in", p.in},
             {"out", p.out},
             {"dead-letters", p.dead},
             {"mode", p.mode},
             {"session-ms", std::to_string(p.session_ms)},
             {"transaction-ms", std::to_string(p.transaction_ms)},
             {"held", std::to_string(p.held)},
             {"work-us", std::to_string(p.work_us)},
             {"journal", journal_path_}}) {
        words.push_back(std::string("--") + name);
        words.push_back(value);
    }
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const std::string log = p.folder + "/worker-" + p.mode + "-" + std::to_string(worker) + ".log";
    const pid_t child = ::fork();
    if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (child == 0) { // only calls that are safe after a fork
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int to = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (to >= 0) {
            ::dup2(to, 1);
            ::dup2(to, 2);
        }
        ::execv(pointers[0], pointers.data());
        ::_exit(127);
    }
    pids_[worker] = child;
}

void crew::signal(std::size_t worker, int number) const {
    if (pids_[worker] != 0) ::kill(pids_[worker], number);
}

bool crew::reap(std::size_t worker, int options) {
    if (pids_[worker] == 0) return true;
    rusage used{};
    pid_t got = 0;
    do {
        got = ::wait4(pids_[worker], &status_[worker], options, &used);
    } while (got < 0 && errno == EINTR);
    if (got == 0) return false;
    cpu_s_ += cpu_of(used);
    all_.died(pids_[worker]);
    pids_[worker] = 0;
    return true;
}

bool crew::wait(std::size_t worker, std::chrono::milliseconds limit) {
    const auto until = std::chrono::steady_clock::now() + limit;
    while (!reap(worker, WNOHANG)) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(20ms);
    }
    return true;
}

std::size_t crew::revive() {
    std::size_t count = 0;
    for (std::size_t w = 0; w < pids_.size(); ++w)
        if (pids_[w] != 0 && reap(w, WNOHANG)) {
            std::fprintf(stderr, "kafka_soak: worker %zu has ended by itself, status 0x%x\n", w,
                         static_cast<unsigned>(status_[w]));
            start(w);
            ++count;
        }
    return count;
}

void chaos::pause(std::chrono::milliseconds time, const std::function<bool()>& is_over) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < until && !is_over()) {
        std::this_thread::sleep_for(50ms);
        revived_ += workers_.revive();
    }
}

void chaos::brokers(const std::string& command) const {
    const plan& p = all_.asked();
    const std::size_t space = command.find(' ');
    const std::string line =
        "'" + p.script + "' " + command.substr(0, space) + " '" + p.cluster + "'" + command.substr(space);
    if (std::system(line.c_str()) != 0) throw std::runtime_error("failed: " + line);
}

void chaos::disturb(const std::string& what, const std::function<bool()>& is_over) {
    const plan& p = all_.asked();
    const std::size_t worker = random_() % workers_.size();
    if (what == "kill") {
        workers_.signal(worker, SIGKILL);
        workers_.wait(worker, 10s);
        workers_.start(worker);
    } else if (what == "stop") {
        workers_.signal(worker, SIGSTOP);
        pause(std::chrono::milliseconds(2 * p.session_ms + 3'000), is_over);
        workers_.signal(worker, SIGCONT);
    } else if (what == "rolling") {
        for (std::size_t w = 0; w < workers_.size(); ++w) {
            workers_.signal(w, SIGTERM);
            if (!workers_.wait(w, 60s)) throw std::runtime_error("a worker does not end after SIGTERM");
            workers_.start(w);
            pause(2s, is_over);
        }
    } else if (what == "leader") {
        const int leader = leader_of(p, static_cast<int>(random_() % p.partitions));
        if (leader < 1) return;
        brokers("kill " + std::to_string(leader));
        pause(5s, is_over);
        brokers("restart " + std::to_string(leader));
    } else if (what == "move") {
        brokers("move " + p.in);
        brokers("move " + p.out);
    } else {
        throw std::invalid_argument("chaos: unknown event '" + what + "'");
    }
}

void chaos::run(const std::function<bool()>& is_over) {
    books::counts before = all_.count();
    const auto note = [this, &before](const std::string& what, std::size_t count) {
        event_summary& e = events_[what];
        const books::counts now = all_.count();
        e.count += count;
        e.doubled += now.doubled - before.doubled;
        e.again += now.again - before.again;
        before = now;
        e.worst.merge(all_.take_stalls());
    };
    const std::vector<std::string> names =
        words_of(all_.asked().chaos == "none" ? "" : all_.asked().chaos, ',');
    const std::chrono::milliseconds every = std::chrono::seconds(all_.asked().every_s);
    pause(names.empty() ? 24h : every, is_over);
    note("start", 1);
    for (std::size_t i = 0; !is_over(); ++i) {
        const std::string& what = names[i % names.size()];
        if (what == "end") {
            pause(24h, is_over);
            return note("rest", 1);
        }
        disturb(what, is_over);
        pause(every, is_over);
        note(what, 1);
    }
}

} // namespace kafka_soak

#include <lab/experiments/server/server_process.hpp>

#include <array>
#include <csignal>
#include <fstream>
#include <stdexcept>

#include <climits>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lab::server {
namespace {

struct child {
    pid_t id;
    int output; // must be closed
};

child start(const std::vector<std::string>& words) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const pid_t id = ::fork();
    if (id < 0) throw std::runtime_error("no process");
    if (id == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::dup2(ends[1], STDOUT_FILENO);
        ::close(ends[0]);
        ::close(ends[1]);
        ::execvp(arguments[0], arguments.data());
        ::_exit(127);
    }
    ::close(ends[1]);
    return {id, ends[0]};
}

int wait_for(pid_t id) {
    int status = 0;
    while (::waitpid(id, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string beside_this(const char* name) {
    std::array<char, PATH_MAX> path{};
    if (::readlink("/proc/self/exe", path.data(), path.size() - 1) < 0) throw std::runtime_error("no /proc");
    const std::string own = path.data();
    return own.substr(0, own.rfind('/') + 1) + name;
}

} // namespace

server_process::server_process(const std::string& model, unsigned workers, std::int64_t on_the_spot) {
    const child made = start(
        {beside_this("ekiden-lab-server"), model, std::to_string(workers), std::to_string(on_the_spot)});
    child_ = made.id;
    std::string line;
    for (char c = 0; ::read(made.output, &c, 1) == 1 && c != '\n';) line += c;
    ::close(made.output);
    if (line.empty()) {
        wait_for(child_);
        throw std::runtime_error("the server did not start");
    }
    port_ = static_cast<std::uint16_t>(std::stoul(line));
}

server_process::~server_process() {
    if (child_ > 0) end();
}

double server_process::cpu_s() const {
    std::ifstream file("/proc/" + std::to_string(child_) + "/stat");
    std::string text;
    std::getline(file, text);
    std::size_t place = text.rfind(')');
    for (int i = 0; i != 12 && place != std::string::npos; ++i)
        place = text.find(' ', place + 1); // to the 14th word
    if (place == std::string::npos) return 0;
    std::size_t used = 0;
    const double user = std::stod(text.substr(place), &used);
    const double system = std::stod(text.substr(place + used));
    return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

int server_process::end() {
    ::kill(child_, SIGTERM);
    const int status = wait_for(child_);
    child_ = -1;
    return status;
}

std::string output_of(const std::vector<std::string>& words) {
    const child made = start(words);
    std::string all;
    std::array<char, 4096> some;
    for (ssize_t count = 0; (count = ::read(made.output, some.data(), some.size())) > 0;)
        all.append(some.data(), static_cast<std::size_t>(count));
    ::close(made.output);
    const int status = wait_for(made.id);
    if (status != 0) throw std::runtime_error(words[0] + " ended with " + std::to_string(status));
    return all;
}

} // namespace lab::server

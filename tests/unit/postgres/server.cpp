#include <tests/unit/postgres/server.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <libpq-fe.h>
#include <pwd.h>
#include <stdexcept>
#include <string>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace ekiden_test {

namespace fs = std::filesystem;

namespace {

/// Returns the folder with the newest initdb, or nothing.
std::string programs() {
    std::string found;
    int newest = 0;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", ignored)) {
        const int version = std::atoi(entry.path().filename().c_str());
        if (version <= newest || !fs::exists(entry.path() / "bin/initdb")) continue;
        newest = version;
        found = entry.path() / "bin";
    }
    return found;
}

const passwd* other_user() {
    if (::geteuid() != 0) return nullptr;
    const passwd* const user = ::getpwnam("postgres");
    return user != nullptr ? user : ::getpwnam("nobody");
}

} // namespace

bool private_server::is_available() {
    if (!programs().empty()) return true;
    std::puts("skipped: there is no PostgreSQL server (Debian: postgresql)");
    return false;
}

pid_t private_server::spawn(const std::vector<std::string>& command) const {
    std::vector<char*> arguments;
    for (const std::string& one : command) arguments.push_back(const_cast<char*>(one.c_str()));
    arguments.push_back(nullptr);
    const passwd* const user = other_user();
    const std::string log = folder_ + "/log";
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("fork");
    if (child == 0) {
        ::setpgid(0, 0); // so that kill() reaches all processes of the server
        if (user != nullptr && (::setgid(user->pw_gid) != 0 || ::setuid(user->pw_uid) != 0)) ::_exit(126);
        ::prctl(PR_SET_PDEATHSIG, SIGQUIT); // so that no server outlives a test that is killed
        const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        ::dup2(out, 1);
        ::dup2(out, 2);
        for (int fd = 3; fd != 64; ++fd) ::close(fd);
        if (::chdir("/tmp") != 0) ::_exit(126);
        ::execv(arguments[0], arguments.data());
        ::_exit(127);
    }
    return child;
}

private_server::private_server() {
    char name[] = "/tmp/ekiden-postgres-XXXXXX"; // the path of a socket must be short
    if (::mkdtemp(name) == nullptr) throw std::runtime_error("mkdtemp");
    folder_ = name;
    // A process that removes the folder when this process has ended, also if it was killed.
    const std::string remove = "exec 3<&0 >/dev/null 2>&1; (cat <&3; sleep 1; rm -rf " + folder_ + ") &";
    cleaner_ = ::popen(remove.c_str(), "we");
    copy_data();
    start();
}

private_server::~private_server() {
    kill();
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
    ::pclose(cleaner_);
}

/// Copies the data of a new server. The first test of a build makes this data, because initdb takes seconds.
void private_server::copy_data() const {
    const fs::path made = EKIDEN_POSTGRES_TEMPLATE + fs::path(programs()).parent_path().filename().string();
    const fs::path data = folder_ + "/data";
    const int lock = ::open((made.string() + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0 || ::flock(lock, LOCK_EX) != 0) throw std::runtime_error("flock");
    const passwd* const user = other_user();
    const auto give = [user](const fs::path& to) {
        if (user != nullptr && ::chown(to.c_str(), user->pw_uid, user->pw_gid) != 0)
            throw std::runtime_error("chown");
    };
    ::chmod(folder_.c_str(), 0755);
    give(folder_);
    if (!fs::exists(made)) {
        // The tests need one database. Without the others, a copy takes half the time.
        const std::string make =
            "bin=$0 data=$1; set -e; \"$bin/initdb\" -D \"$data\" --no-sync -A trust -U ekiden "
            "--no-locale -E UTF8 --wal-segsize=1; printf '%s\\n' 'update pg_database set "
            "datistemplate = false' 'drop database template0' 'drop database template1' | "
            "\"$bin/postgres\" --single -D \"$data\" postgres";
        const pid_t maker = spawn({"/bin/sh", "-c", make, programs(), data.string()});
        int status = 0;
        ::waitpid(maker, &status, 0);
        if (status != 0) throw std::runtime_error("the data cannot be made: see " + folder_ + "/log");
        const fs::path part = made.string() + ".part"; // so that no test that is killed leaves half a copy
        fs::remove_all(part);
        fs::copy(data, part, fs::copy_options::recursive);
        fs::rename(part, made);
        ::close(lock);
        return;
    }
    ::close(lock);
    fs::copy(made, data, fs::copy_options::recursive);
    ::chmod(data.c_str(), 0700);
    give(data);
    for (const auto& entry : fs::recursive_directory_iterator(data)) give(entry.path());
}

void private_server::kill() {
    if (process_ == 0) return;
    // The postmaster's children have groups of their own. They end when they find that it is gone.
    std::vector<pid_t> all{process_};
    if (std::FILE* const list = ::popen(("ps -o pid= --ppid " + std::to_string(process_)).c_str(), "r")) {
        int pid = 0;
        while (std::fscanf(list, "%d", &pid) == 1) all.push_back(pid);
        ::pclose(list);
    }
    for (const pid_t one : all) ::kill(one, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
}

void private_server::start() {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    do {
        if (process_ == 0)
            process_ =
                spawn({programs() + "/postgres", "-D", folder_ + "/data", "-k", folder_, "-h", "", "-c",
                       "max_connections=200", "-c", "shared_buffers=64MB", "-c", "autovacuum_naptime=5s"});
        if (PQping(connection().c_str()) == PQPING_OK) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        // A server that finds the memory of a killed one in use ends at once.
        if (::waitpid(process_, nullptr, WNOHANG) == process_) process_ = 0;
    } while (std::chrono::steady_clock::now() < limit);
    throw std::runtime_error("the server does not start: see " + folder_ + "/log");
}

std::vector<private_server::row> private_server::sql(const std::string& text) const {
    PGconn* const server = PQconnectdb(connection().c_str());
    PQsetNoticeProcessor(server, [](void*, const char*) {}, nullptr);
    PGresult* const result = PQexec(server, text.c_str());
    const ExecStatusType status = PQresultStatus(result);
    std::vector<row> rows(static_cast<std::size_t>(PQntuples(result)));
    for (std::size_t i = 0; i != rows.size(); ++i)
        for (int column = 0; column != PQnfields(result); ++column) {
            const int at = static_cast<int>(i);
            rows[i].push_back(PQgetisnull(result, at, column) ? std::optional<std::string>()
                                                              : PQgetvalue(result, at, column));
        }
    const std::string failure = PQerrorMessage(server);
    PQclear(result);
    PQfinish(server);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) throw std::runtime_error(failure);
    return rows;
}

std::int64_t private_server::number(const std::string& text) const {
    return std::stoll(sql(text).at(0).at(0).value());
}

} // namespace ekiden_test

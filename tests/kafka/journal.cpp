#include <tests/kafka/journal.hpp>

#include <cerrno>
#include <cstring>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace kafka_soak {
namespace {

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) throw std::invalid_argument("the path is too long: " + path);
    std::memcpy(address.sun_path, path.data(), path.size());
    return address;
}

[[noreturn]] void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

int connect_to(const std::string& path) {
    const int s = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const sockaddr_un address = address_of(path);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the interface of sockets
    if (s < 0 || ::connect(s, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        fail("journal: cannot connect to " + path);
    return s;
}

void send_to(int socket, const journal_entry& entry) {
    while (::send(socket, &entry, sizeof entry, MSG_NOSIGNAL) != sizeof entry)
        if (errno != EINTR) fail("journal: cannot send");
}

// A socket for each thread, because the thread waits there for its answer.
struct effect_socket {
    int socket = -1;
    effect_socket() = default;
    effect_socket(const effect_socket&) = delete;
    effect_socket& operator=(const effect_socket&) = delete;
    ~effect_socket() {
        if (socket >= 0) ::close(socket);
    }
};

} // namespace

journal::journal(std::string path) : path_(std::move(path)) {
    if (!path_.empty()) socket_ = connect_to(path_);
}

void journal::send(const journal_entry& entry) const {
    if (socket_ >= 0) send_to(socket_, entry);
}

void journal::began(const record_name& which, std::int32_t partition, std::int64_t offset,
                    unsigned attempt) const {
    send({journal_entry::kind::began, ::getpid(), partition, attempt, offset, which});
}

void journal::ended(const record_name& which, std::int32_t partition, std::int64_t offset) const {
    send({journal_entry::kind::ended, ::getpid(), partition, 1, offset, which});
}

bool journal::effect(const record_name& which, std::int32_t partition, std::int64_t offset) const {
    if (path_.empty()) return true;
    static thread_local effect_socket mine;
    if (mine.socket < 0) mine.socket = connect_to(path_);
    send_to(mine.socket, {journal_entry::kind::effect, ::getpid(), partition, 1, offset, which});
    char answer = 0;
    while (::recv(mine.socket, &answer, 1, 0) != 1)
        if (errno != EINTR) fail("journal: no answer");
    return answer == 1;
}

journal_server::journal_server(std::string path, handler f)
    : path_(std::move(path)), handler_(std::move(f)),
      listener_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    ::unlink(path_.c_str());
    const sockaddr_un address = address_of(path_);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the interface of sockets
    if (listener_ < 0 || ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0
        || ::listen(listener_, 64) != 0)
        fail("journal: cannot listen at " + path_);
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

journal_server::~journal_server() {
    thread_.request_stop();
    thread_.join();
    ::close(listener_);
    ::unlink(path_.c_str());
}

void journal_server::serve(const std::stop_token& stop) {
    std::vector<pollfd> all{{listener_, POLLIN, 0}};
    while (!stop.stop_requested()) {
        if (::poll(all.data(), all.size(), 100) <= 0) continue;
        std::vector<pollfd> left{{listener_, POLLIN, 0}};
        for (std::size_t i = 1; i < all.size(); ++i) {
            bool open = true;
            // Reads several entries after each poll(), because poll() costs more than reading an entry.
            for (int n = 0; open && n < 64 && (all[i].revents & (POLLIN | POLLHUP)) != 0; ++n) {
                journal_entry entry;
                const ssize_t got = ::recv(all[i].fd, &entry, sizeof entry, MSG_DONTWAIT);
                if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
                open = got == sizeof entry;
                if (!open) break;
                const char answer = handler_(entry) ? 1 : 0;
                if (entry.what == journal_entry::kind::effect) ::send(all[i].fd, &answer, 1, MSG_NOSIGNAL);
            }
            if (open)
                left.push_back({all[i].fd, POLLIN, 0});
            else
                ::close(all[i].fd);
        }
        if ((all[0].revents & POLLIN) != 0) {
            const int next = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
            if (next >= 0) left.push_back({next, POLLIN, 0});
        }
        all = std::move(left);
    }
    for (std::size_t i = 1; i < all.size(); ++i) ::close(all[i].fd);
}

} // namespace kafka_soak

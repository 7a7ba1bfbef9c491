#include "checking_client.hpp"

#include "account_book.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <unordered_map>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ordered_client {

namespace {

using clock = std::chrono::steady_clock;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

/// Returns the sum of the first draws of the generator that WORK uses, computed from its definition.
std::int64_t sum_of_draws(std::int64_t draws) {
    std::mt19937 generator;
    std::int64_t sum = 0;
    while (draws-- > 0) sum += static_cast<std::int64_t>(generator());
    return sum;
}

class descriptor {
public:
    explicit descriptor(int number) : number_(number) {}
    ~descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    [[nodiscard]] int get() const { return number_; }

private:
    int number_;
};

int connect_to(const plan& p) {
    const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (made < 0) fail("socket");
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(p.port);
    if (::inet_pton(AF_INET, p.address.c_str(), &to.sin_addr) != 1
        || ::connect(made, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
        ::close(made);
        fail("connect");
    }
    const int one = 1;
    ::setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    ::fcntl(made, F_SETFL, O_NONBLOCK);
    return made;
}

/// Removes "KIND number \r\n" from the front of `bytes`, if it is complete.
bool take_number(std::string_view& bytes, char kind, std::int64_t& number, bool& is_wrong) {
    const std::size_t end = bytes.find("\r\n");
    if (end == std::string_view::npos) return false;
    const std::string_view digits = bytes.substr(1, end - 1);
    const auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    is_wrong = bytes[0] != kind || error != std::errc() || last != digits.data() + digits.size();
    bytes.remove_prefix(end + 2);
    return true;
}

struct pair_of_numbers {
    std::int64_t number = 0;
    std::int64_t total = 0;
};

/// Removes an array of two numbers. Throws if the bytes are anything else.
bool take_pair(std::string_view& bytes, pair_of_numbers& pair) {
    const std::string_view all = bytes;
    std::int64_t size = 0;
    std::array<bool, 3> wrong{};
    if (!take_number(bytes, '*', size, wrong[0]) || !take_number(bytes, ':', pair.number, wrong[1])
        || !take_number(bytes, ':', pair.total, wrong[2]))
        return false;
    if (wrong[0] || wrong[1] || wrong[2] || size != 2)
        throw std::runtime_error("this is no pair of numbers: " + std::string(all.substr(0, 40)));
    return true;
}

/// Removes the reply to MGET, which is an array of pairs. Throws if the bytes are anything else.
bool take_pairs(std::string_view& bytes, std::vector<pair_of_numbers>& pairs) {
    std::int64_t size = 0;
    bool is_wrong = false;
    if (!take_number(bytes, '*', size, is_wrong)) return false;
    if (is_wrong || size != static_cast<std::int64_t>(pairs.size()))
        throw std::runtime_error("this is no reply to MGET");
    return std::all_of(pairs.begin(), pairs.end(), [&](pair_of_numbers& p) { return take_pair(bytes, p); });
}

std::string array_of(const std::vector<std::string>& words) {
    std::string text = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& word : words) {
        text.append("$").append(std::to_string(word.size())).append("\r\n");
        text.append(word).append("\r\n");
    }
    return text;
}

enum class kind : std::uint8_t { ping, add, transfer, wait, set_all, get_all };

struct wanted {
    kind what;
    unsigned key;
    std::int64_t amount; ///< WAIT: the number of milliseconds
    clock::time_point sent;
    unsigned to = 0; ///< TRANSFER: the account that gets the amount
};

constexpr std::int64_t opening_balance = 1000; // of each account

} // namespace

class client {
public:
    explicit client(const plan& p);
    report go();

private:
    struct peer {
        explicit peer(int number, bool mortal) : socket(number), may_be_killed(mortal) {}
        descriptor socket;
        bool may_be_killed;
        bool wants_to_write = false;
        std::string out;
        std::string in;
        std::deque<wanted> waiting;
        // The last number of each key that this connection has seen.
        std::unordered_map<unsigned, std::int64_t> last_number;
        // The next MGET must find at least these running numbers of the accounts.
        std::vector<std::int64_t> least;
    };

    void open(std::size_t at);
    void add_requests(peer& of);
    void add_account_request(peer& of, clock::time_point now);
    [[nodiscard]] std::vector<std::string> words_of(const wanted& asked);
    [[nodiscard]] std::string account(unsigned number) const {
        return plan_.prefix + "-account" + std::to_string(number);
    }
    [[nodiscard]] std::int64_t changes_of(const wanted& asked) const;
    void write(std::size_t at);
    void read(std::size_t at);
    void take_replies(std::size_t at);
    bool take_reply(peer& of, std::string_view& bytes);
    bool take_wait_reply(peer& of, const wanted& asked, std::string_view& bytes);
    bool take_account_reply(peer& of, const wanted& asked, std::string_view& bytes);
    std::int64_t check_balances(const std::vector<pair_of_numbers>& all);
    void lose(std::size_t at);
    void watch(std::size_t at, bool writing);
    void reset_keys();
    void close_books();
    void close_accounts(int socket);
    std::string ask_alone(int socket, std::string_view bytes, std::size_t replies);

    plan plan_;
    report report_;
    account_book book_;
    std::mt19937_64 random_;
    std::int64_t work_sum_;
    descriptor epoll_{::epoll_create1(EPOLL_CLOEXEC)};
    std::vector<std::unique_ptr<peer>> peers_;
    unsigned open_ = 0;
    // The number of changes of accounts. Each request changes one or more accounts. The first member counts
    // the changes by requests with a reply. The second member counts the changes by requests without a reply.
    std::int64_t changes_ = 0;
    std::int64_t lost_changes_ = 0;
    std::vector<float> delays_us_; // for one reply in 16
};

client::client(const plan& p)
    : plan_(p), book_(p.keys), random_(p.seed), work_sum_(p.draws >= 0 ? sum_of_draws(p.draws) : 0),
      peers_(p.connections) {}

report client::go() {
    reset_keys();
    for (std::size_t i = 0; i != peers_.size(); ++i) open(i);
    const auto begin = clock::now();
    auto last = begin;
    for (std::size_t i = 0; i != peers_.size(); ++i) write(i);
    std::array<epoll_event, 128> events;
    while (open_ != 0 && report_.answered + report_.lost != plan_.requests) {
        const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                       static_cast<int>(plan_.patience.count()));
        if (count < 0 && errno != EINTR) fail("epoll_wait");
        if (count == 0) throw std::runtime_error("the server says nothing any more");
        for (int i = 0; i < count; ++i) {
            const auto at = static_cast<std::size_t>(events[static_cast<std::size_t>(i)].data.u64);
            if (!peers_[at]) continue;
            read(at);
            if (peers_[at]) write(at);
        }
        last = clock::now();
    }
    report_.seconds = std::chrono::duration<double>(last - begin).count();
    peers_.clear();
    close_books();
    report_.violations = book_.violations();
    report_.first_violations = book_.first();
    std::sort(delays_us_.begin(), delays_us_.end());
    if (!delays_us_.empty()) {
        report_.p50_us = delays_us_[delays_us_.size() / 2];
        report_.p99_us = delays_us_[delays_us_.size() * 99 / 100];
    }
    return report_;
}

/// If connections are killed, only every second one may be.
void client::open(std::size_t at) {
    peers_[at] = std::make_unique<peer>(connect_to(plan_), plan_.kill_one_in != 0 && at % 2 == 0);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = at;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, peers_[at]->socket.get(), &event) != 0) fail("epoll_ctl");
    peers_[at]->least.resize(plan_.accounts);
    ++open_;
}

void client::add_requests(peer& of) {
    if (of.out.size() > 64 * 1024) return;
    const auto now = clock::now();
    while (of.waiting.size() < plan_.pipeline && report_.sent < plan_.requests) {
        if (plan_.accounts != 0 && random_() % 2 == 0) {
            add_account_request(of, now);
            continue;
        }
        const auto key = static_cast<unsigned>(random_() % plan_.keys);
        const std::string name = plan_.prefix + std::to_string(key);
        const bool works = plan_.draws >= 0 && !of.may_be_killed;
        const std::int64_t amount = works              ? work_sum_
                                    : of.may_be_killed ? lost_amount
                                                       : static_cast<std::int64_t>(random_() % 1000);
        const std::string n = std::to_string(works ? plan_.draws : amount);
        // Sometimes sends an inline command, with a PING before it.
        if (report_.sent % 64 == 63) {
            of.out.append("PING\r\n")
                .append(works ? "WORK " : "ADD ")
                .append(name)
                .append(" ")
                .append(n)
                .append("\r\n");
            of.waiting.push_back({kind::ping, 0, 0, now});
        } else {
            of.out += array_of({works ? "WORK" : "ADD", name, n});
        }
        of.waiting.push_back({kind::add, key, amount, now});
        ++report_.sent;
    }
}

/// Adds a request that keeps the sum over all accounts.
void client::add_account_request(peer& of, clock::time_point now) {
    const auto drawn = random_() % 64;
    wanted asked{drawn < 4    ? kind::get_all
                 : drawn < 8  ? kind::set_all
                 : drawn == 8 ? kind::wait
                              : kind::transfer,
                 0, 0, now};
    if (asked.what == kind::wait) {
        asked.key = asked.to = static_cast<unsigned>(random_() % plan_.accounts);
        asked.amount = static_cast<std::int64_t>(random_() % 3);
    }
    if (asked.what == kind::transfer) {
        asked.key = static_cast<unsigned>(random_() % plan_.accounts);
        asked.to = (asked.key + 1 + static_cast<unsigned>(random_() % (plan_.accounts - 1))) % plan_.accounts;
        asked.amount = static_cast<std::int64_t>(random_() % 1000);
    }
    of.out += array_of(words_of(asked));
    of.waiting.push_back(asked);
    ++report_.sent;
}

std::vector<std::string> client::words_of(const wanted& asked) {
    if (asked.what == kind::transfer)
        return {"TRANSFER", account(asked.key), account(asked.to), std::to_string(asked.amount)};
    if (asked.what == kind::wait) return {"WAIT", account(asked.key), std::to_string(asked.amount)};
    std::vector<std::string> words{asked.what == kind::set_all ? "MSET" : "MGET"};
    std::int64_t rest = opening_balance * plan_.accounts;
    for (unsigned i = 0; i != plan_.accounts; ++i) {
        words.push_back(account(i));
        if (asked.what == kind::get_all) continue;
        const bool is_last = i + 1 == plan_.accounts;
        const std::int64_t balance = is_last ? rest : static_cast<std::int64_t>(random_() % 2000);
        words.push_back(std::to_string(balance));
        rest -= balance;
    }
    return words;
}

/// Returns how many accounts a request changes.
std::int64_t client::changes_of(const wanted& asked) const {
    switch (asked.what) {
    case kind::transfer:
        return 2;
    case kind::wait:
        return 1;
    case kind::set_all:
        return plan_.accounts;
    default:
        return 0;
    }
}

void client::watch(std::size_t at, bool writing) {
    peer& p = *peers_[at];
    if (p.wants_to_write == writing) return;
    p.wants_to_write = writing;
    epoll_event event{};
    event.events = EPOLLIN | (writing ? std::uint32_t{EPOLLOUT} : 0);
    event.data.u64 = at;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, p.socket.get(), &event) != 0) fail("epoll_ctl");
}

void client::write(std::size_t at) {
    peer& p = *peers_[at];
    add_requests(p);
    if (!p.out.empty()) {
        const ssize_t written = ::send(p.socket.get(), p.out.data(), p.out.size(), MSG_NOSIGNAL);
        if (written > 0) p.out.erase(0, static_cast<std::size_t>(written));
        if (written < 0 && errno != EAGAIN)
            p.out.clear(); // the read will report the error, after the replies that have arrived
    }
    watch(at, !p.out.empty());
}

void client::read(std::size_t at) {
    peer& p = *peers_[at];
    std::array<char, 64 * 1024> bytes;
    const ssize_t count = ::recv(p.socket.get(), bytes.data(), bytes.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) return lose(at);
    p.in.append(bytes.data(), static_cast<std::size_t>(count));
    take_replies(at);
}

void client::take_replies(std::size_t at) {
    peer& p = *peers_[at];
    bool is_killed = false;
    std::string_view bytes = p.in;
    while (!p.waiting.empty() && take_reply(p, bytes)) {
        if (p.may_be_killed && random_() % plan_.kill_one_in == 0) is_killed = true;
    }
    p.in.erase(0, p.in.size() - bytes.size());
    if (p.waiting.empty() && !p.in.empty()) book_.violation("a reply to nothing: " + p.in.substr(0, 40));
    if (!is_killed) return;
    write(at);                  // so that the connection dies with unanswered requests
    const linger at_once{1, 0}; // resets some of them
    if (random_() % 2 == 0) ::setsockopt(p.socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ++report_.killed;
    lose(at);
}

/// Removes the reply to the oldest request from the front of `bytes`. Returns false if it is not complete.
bool client::take_reply(peer& of, std::string_view& bytes) {
    const wanted asked = of.waiting.front();
    std::string_view rest = bytes;
    if (asked.what == kind::ping) {
        if (rest.size() < 7) return false;
        if (!rest.starts_with("+PONG\r\n"))
            book_.violation("instead of PONG: " + std::string(rest.substr(0, 40)));
        rest.remove_prefix(7);
    } else if (rest.starts_with('-')) {
        throw std::runtime_error("the server refuses: " + std::string(rest.substr(0, 80)));
    } else if (asked.what != kind::add) {
        if (!take_account_reply(of, asked, rest)) return false;
        ++report_.answered;
    } else {
        pair_of_numbers said;
        if (!take_pair(rest, said)) return false;
        std::int64_t& last = of.last_number[asked.key];
        if (said.number <= last)
            book_.violation("key " + std::to_string(asked.key) + ": number " + std::to_string(said.number)
                            + " came behind " + std::to_string(last) + " on one connection");
        last = said.number;
        book_.enter(asked.key, said.number, asked.amount, said.total);
        if (++report_.answered % 16 == 0)
            delays_us_.push_back(std::chrono::duration<float, std::micro>(clock::now() - asked.sent).count());
    }
    bytes = rest;
    of.waiting.pop_front();
    return true;
}

/// The running number must be greater than all numbers of the account that the connection knows.
bool client::take_wait_reply(peer& of, const wanted& asked, std::string_view& bytes) {
    pair_of_numbers said;
    if (!take_pair(bytes, said)) return false;
    if (clock::now() - asked.sent < std::chrono::milliseconds(asked.amount))
        book_.violation("a WAIT of " + std::to_string(asked.amount) + " ms ends too early");
    if (said.number <= of.least[asked.key])
        book_.violation(account(asked.key) + ": WAIT has number " + std::to_string(said.number)
                        + ", but the connection knows of " + std::to_string(of.least[asked.key]));
    of.least[asked.key] = said.number;
    changes_ += changes_of(asked);
    return true;
}

bool client::take_account_reply(peer& of, const wanted& asked, std::string_view& bytes) {
    if (asked.what == kind::wait) return take_wait_reply(of, asked, bytes);
    if (asked.what != kind::get_all) {
        if (bytes.size() < 5) return false;
        if (!bytes.starts_with("+OK\r\n"))
            book_.violation("instead of OK: " + std::string(bytes.substr(0, 40)));
        bytes.remove_prefix(5);
        changes_ += changes_of(asked);
        for (unsigned i = 0; i != plan_.accounts; ++i)
            of.least[i] += asked.what == kind::set_all || i == asked.key || i == asked.to ? 1 : 0;
        return true;
    }
    std::vector<pair_of_numbers> all(plan_.accounts);
    if (!take_pairs(bytes, all)) return false;
    (void)check_balances(all);
    for (unsigned i = 0; i != plan_.accounts; ++i) {
        if (all[i].number < of.least[i])
            book_.violation(account(i) + ": MGET finds number " + std::to_string(all[i].number)
                            + ", but the connection knows of " + std::to_string(of.least[i]));
        of.least[i] = all[i].number;
    }
    return true;
}

/// Checks the sum over all accounts. Returns the sum of their running numbers.
std::int64_t client::check_balances(const std::vector<pair_of_numbers>& all) {
    std::int64_t sum = 0;
    std::int64_t numbers = 0;
    for (const pair_of_numbers& p : all) {
        sum += p.total;
        numbers += p.number;
    }
    if (sum != opening_balance * plan_.accounts)
        book_.violation("the sum over all accounts is " + std::to_string(sum) + " instead of "
                        + std::to_string(opening_balance * plan_.accounts));
    return numbers;
}

/// A connection has ended. Replaces it, unless the server has ended it.
void client::lose(std::size_t at) {
    peer& p = *peers_[at];
    const bool by_server = !p.may_be_killed;
    for (const wanted& w : p.waiting) {
        if (w.what == kind::ping) continue;
        ++report_.lost;
        lost_changes_ += changes_of(w);
        if (!by_server && w.what == kind::add) book_.lose(w.key);
    }
    if (by_server) {
        ++report_.ended;
        if (!plan_.may_be_refused) book_.violation("the server has ended a connection");
    }
    peers_[at].reset();
    --open_;
    if (!by_server) open(at);
}

/// Uses a separate connection and waits for the replies.
std::string client::ask_alone(int socket, std::string_view bytes, std::size_t replies) {
    std::string out(bytes);
    std::string in;
    std::size_t lines = 0;
    ::fcntl(socket, F_SETFL, 0);
    while (!out.empty()) {
        const ssize_t written = ::send(socket, out.data(), out.size(), MSG_NOSIGNAL);
        if (written <= 0) fail("send");
        out.erase(0, static_cast<std::size_t>(written));
    }
    while (lines < replies) {
        std::array<char, 4096> some;
        const ssize_t count = ::recv(socket, some.data(), some.size(), 0);
        if (count <= 0) fail("recv");
        lines += static_cast<std::size_t>(std::count(some.data(), some.data() + count, '\n'));
        in.append(some.data(), static_cast<std::size_t>(count));
    }
    return in;
}

void client::reset_keys() {
    const descriptor socket(connect_to(plan_));
    const auto expect_ok = [&](const std::vector<std::string>& words) {
        const std::string reply = ask_alone(socket.get(), array_of(words), 1);
        if (reply != "+OK\r\n") throw std::runtime_error(words[0] + " is answered with " + reply);
    };
    for (unsigned key = 0; key != plan_.keys; ++key) expect_ok({"RESET", plan_.prefix + std::to_string(key)});
    for (unsigned i = 0; i != plan_.accounts; ++i) expect_ok({"RESET", account(i)});
    const wanted opening{kind::set_all, 0, 0, clock::now()};
    if (plan_.accounts != 0) expect_ok(words_of(opening));
    changes_ += changes_of(opening);
}

/// Lost requests may still be running. Each GET returns what has been run until then. If the server has
/// ended, there must be no gap, because it has answered everything that it ran.
void client::close_books() {
    if (plan_.may_be_refused) return book_.close_without_gaps();
    const descriptor socket(connect_to(plan_));
    for (unsigned key = 0; key != plan_.keys; ++key) {
        const std::string name = plan_.prefix + std::to_string(key);
        const std::string added =
            ask_alone(socket.get(), "ADD " + name + " 0\r\n", 3); // otherwise the key may be unknown
        std::string_view bytes = added;
        pair_of_numbers said;
        if (take_pair(bytes, said)) book_.enter(key, said.number, 0, said.total);
        const std::string got = ask_alone(socket.get(), "GET " + name + "\r\n", 3);
        bytes = got;
        if (take_pair(bytes, said)) book_.close(key, said.number, said.total);
    }
    if (plan_.accounts != 0) close_accounts(socket.get());
}

/// Each answered request must have been run once, and each lost request at most once.
void client::close_accounts(int socket) {
    const std::string got =
        ask_alone(socket, array_of(words_of({kind::get_all, 0, 0, clock::now()})), 1 + 3 * plan_.accounts);
    std::string_view bytes = got;
    std::vector<pair_of_numbers> all(plan_.accounts);
    (void)take_pairs(bytes, all);
    const std::int64_t numbers = check_balances(all);
    if (numbers < changes_ || numbers > changes_ + lost_changes_)
        book_.violation("the accounts were changed " + std::to_string(numbers) + " times instead of "
                        + std::to_string(changes_) + ", and at most " + std::to_string(lost_changes_)
                        + " more");
}

report run(const plan& p) { return client(p).go(); }

} // namespace ordered_client

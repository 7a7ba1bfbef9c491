#include "serve.hpp"

#include "carrier.hpp"
#include "client.hpp"

#include <memory>
#include <numeric>

namespace sim_server {

namespace {

using ekiden::sim::choose;
using ekiden::sim::expect;
using namespace std::chrono_literals;

constexpr const char* all_keys[] = {"k0", "k1", "k2", "a0", "a1", "a2"};
constexpr unsigned longest_wait = 3'600'000; // ms

std::string array_of(const std::string& name, const std::string& key, const std::string& n) {
    std::string text = "*3\r\n";
    for (const std::string& word : {name, key, n})
        text += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    return text;
}

/// Draws a request with several keys, a WAIT or an ADD. Only these requests use the accounts.
request draw_several() {
    constexpr unsigned accounts = 3;
    const auto some = [] { return " a" + std::to_string(choose(accounts)); };
    // Now and then, a total is so large that a transfer overflows.
    const auto number = [] { return " " + std::to_string(choose(8) == 7 ? INT64_MAX / 2 : choose(100)); };
    std::string text;
    switch (choose(5)) {
    case 0: {
        const unsigned from = choose(accounts);
        const unsigned to = (from + 1 + choose(accounts - 1)) % accounts;
        text = "TRANSFER a" + std::to_string(from) + " a" + std::to_string(to) + number();
        break;
    }
    case 1:
        text = "MSET";
        for (unsigned i = 1 + choose(accounts); i != 0; --i) text += some() + number();
        break;
    case 2:
        text = "MGET";
        for (unsigned i = 1 + choose(accounts); i != 0; --i) text += some();
        break;
    case 3: // now and then, longer than the server may take to end
        text = "WAIT" + some() + " " + std::to_string(choose(16) == 15 ? longest_wait : 1U << choose(14));
        break;
    default:
        text = "ADD" + some() + number();
    }
    return {kind::several, never, 0, text + "\r\n"};
}

/// Draws a request of a client. The key has `bits` unused bits left.
request draw_request(unsigned key, unsigned& bits, std::size_t place) {
    const std::string name = "k" + std::to_string(key);
    const std::uint32_t drawn = choose(12);
    if (drawn >= 8) return draw_several();
    if (drawn < 3 && bits < most_bits) {
        const std::int64_t bit = std::int64_t{1} << bits++;
        const std::string n = std::to_string(bit);
        return {kind::add, key, bit,
                drawn == 2 ? array_of("ADD", name, n) : "ADD " + name + " " + n + "\r\n"};
    }
    if (drawn < 6) return {kind::work, key, 0, "WORK " + name + " 1\r\n"};
    if (drawn == 6) return {kind::get, key, 0, "GET " + name + "\r\n"};
    return {kind::ping, never, 0, "PING ping" + std::to_string(place) + "\r\n"};
}

script draw_script(std::vector<unsigned>& bits) {
    script drawn;
    const std::size_t count = 3 + choose(14);
    for (std::size_t i = 0; i != count; ++i) {
        const unsigned key = choose(static_cast<std::uint32_t>(bits.size()));
        drawn.add(draw_request(key, bits[key], i));
    }
    if (choose(4) == 3) {
        drawn.add({kind::quit, never, 0, "QUIT\r\n"});
        drawn.add({kind::unheard, never, 0, "ADD k0 1\r\n"});
    }
    return drawn;
}

behaviour draw_behaviour() {
    behaviour how;
    how.pipeline = 8 >> choose(4);
    how.piece = 64 >> choose(6);
    if (choose(4) == 3) how.pause = std::chrono::milliseconds(1 << choose(14));
    if (choose(8) == 7) how.deaf_after = choose(6);
    if (choose(8) == 7) how.gone_after = 1 + choose(6);
    how.ends_output = choose(2) != 0;
    return how;
}

ordered::options draw_options(std::size_t clients) {
    ordered::options chosen;
    chosen.limit.pipeline = 4 - choose(4);
    chosen.limit.lane = choose(4) == 3 ? 2 : 1;
    chosen.limit.output =
        160 - 40 * choose(4) + (choose(2) == 0 ? 8192 : 0); // room for some WAITs, or for one
    chosen.limit.wait = longest_wait;
    chosen.limit.connections = clients - (choose(8) == 7 ? 1 : 0);
    chosen.limit.work_on_the_spot = choose(4) == 0 ? 0 : -1;
    chosen.limit.under_way = choose(4); // above this, replies are collected
    return chosen;
}

/// The clients, their wires, and the server.
class world {
public:
    explicit world(ekiden::sim_context& outside)
        : outside_(outside), count_(1 + choose(8)), bits_(1 + choose(3)), keys_(bits_.size()),
          server_(network_.get_executor(), workers_.get_executor(), draw_options(count_),
                  ordered::make_lane_desk,
                  [this] {
                      has_ended_ = true;
                      ended_ = ekiden::steady_timer::now();
                  }),
          second_(network_) {
        books_.resize(count_);
        for (std::size_t i = 0; i != count_; ++i) scripts_.push_back(draw_script(bits_));
        for (const script& one : scripts_) requests_ += one.requests.size();
        stop_after_ = choose(static_cast<std::uint32_t>(2 * requests_)); // after this many replies
        for (std::size_t i = 0; i != count_; ++i) {
            const std::size_t room = 128 >> choose(4);
            wires_.push_back(
                std::make_unique<wire>(network_, outside_, room, choose(4) == 3 ? choose(60) : 0));
            network_.get_executor().post([this, i] { accept(i); });
        }
        for (std::size_t i = 0; i != count_; ++i)
            clients_.push_back(std::make_unique<client>(
                outside_, wires_[i]->client, scripts_[i], draw_behaviour(), keys_, books_[i],
                [this] { answered(); }, [this] { over(); }));
        if (choose(4) == 3) ekiden::sim::at_any_time("a signal", [this] { stop(); });
    }

    void check() {
        expect(has_ended_, "the server has ended");
        expect(alive_ == 0, "no connection is left");
        if (state_.is_forced) check_second_stop();
        const auto& taken = server_.count().requests;
        expect(std::accumulate(std::begin(taken), std::end(taken), std::uint64_t{0})
                   == server_.count().replies + server_.count().lost,
               "each request is answered or lost");
        std::vector<key_history::state> last;
        for (unsigned key = 0; key != keys_.size(); ++key) {
            const ordered::account* const known = server_.keys().find("k" + std::to_string(key), false);
            const std::int64_t number = known != nullptr ? known->number : 0;
            last.push_back(key_history::decode(number, known != nullptr ? known->total : 0));
            keys_[key].close(number, last.back());
        }
        if (!is_forced()) check_model();
        for (std::size_t i = 0; i != count_; ++i) check_client(i, last);
    }

private:
    /// Returns whether the server may have given up requests.
    [[nodiscard]] bool is_forced() const {
        return state_.is_forced || ended_ - state_.begun >= ordered::deadlines{}.grace;
    }
    /// A WAIT whose time was over at the second stop may still be run. All others come back at once.
    void check_second_stop() {
        for (const char* key : all_keys) {
            const std::int64_t more = number_of(key) - numbers_[key];
            expect(more == 0 || (more == 1 && model_.has_waited(key, forced_)),
                   "nothing is run after the second stop");
        }
    }
    [[nodiscard]] std::int64_t number_of(const char* key) {
        const ordered::account* const known = server_.keys().find(key, false);
        return known != nullptr ? known->number : 0;
    }
    void check_model() {
        for (const char* key : all_keys) {
            const ordered::account* const known = server_.keys().find(key, false);
            const auto has = known != nullptr ? model::state{known->number, known->total} : model::state{};
            expect(model_.at(key) == has, "each key is what running all requests in order makes of it");
        }
    }

    void accept(std::size_t i) {
        if (state_.has_begun || !server_.has_room()) return wires_[i]->server.reset();
        server_.add(std::make_shared<carrier>(server_, wires_[i]->server, scripts_[i], books_[i], state_,
                                              model_, alive_));
    }

    /// Stops the server, and sometimes a second time.
    void stop() {
        network_.get_executor().post([this] {
            if (state_.has_begun) return;
            state_ = {true, false, ekiden::steady_timer::now()};
            server_.end();
            if (choose(4) != 3) return;
            second_.expires_after(std::chrono::milliseconds(1 << choose(13)));
            second_.async_wait([this](std::error_code) {
                state_.is_forced = true;
                forced_ = ekiden::steady_timer::now();
                if (!has_ended_) server_.end();
                for (const char* key : all_keys) numbers_[key] = number_of(key);
            });
        });
    }
    void answered() {
        if (++answers_ == stop_after_) {
            ekiden::sim::reached("stopped in the middle");
            stop();
        }
    }
    void over() {
        if (++over_ == count_) stop();
    }

    void check_client(std::size_t i, const std::vector<key_history::state>& last) {
        const script& asked = scripts_[i];
        const account_of_bytes& books = books_[i];
        const std::size_t accepted = asked.heard_in(books.delivered);
        const bool is_whole = !wires_[i]->is_cut() && !books.is_given_up;
        expect(clients_[i]->answered() <= accepted, "nothing is answered that was not accepted");
        if (is_whole) expect(clients_[i]->answered() == accepted, "all that was accepted is answered");
        for (unsigned key = 0; key != keys_.size(); ++key) {
            const std::int64_t all = asked.bits_of(key, asked.requests.size());
            const std::int64_t may = asked.bits_of(key, accepted);
            const std::int64_t have = last[key].bits & all;
            expect((have & ~may) == 0, "nothing is run that was not accepted");
            if (is_whole) expect(have == may, "all that was accepted is run");
        }
        if (is_whole && accepted == asked.heard_in(asked.bytes.size())) ekiden::sim::reached("all answered");
        if (is_whole && accepted < asked.heard_in(asked.bytes.size()))
            ekiden::sim::reached("ended by the server");
        if (wires_[i]->is_cut()) ekiden::sim::reached("cut");
        if (books.is_given_up && !state_.is_forced) ekiden::sim::reached("given up");
        if (server_.count().waits_for_room != 0) ekiden::sim::reached("waited for room");
        if (server_.count().on_the_spot != 0) ekiden::sim::reached("run on the spot");
        if (server_.count().lost != 0) ekiden::sim::reached("lost");
    }

    ekiden::sim_context& outside_;
    ekiden::sim_context network_{{.name = "network", .in_order = true}};
    ekiden::sim_context workers_{{.name = "workers"}};
    const std::size_t count_;
    std::vector<unsigned> bits_;
    std::vector<key_history> keys_;
    std::vector<script> scripts_;
    std::vector<account_of_bytes> books_;
    ending state_;
    model model_;
    int alive_ = 0;
    bool has_ended_ = false;
    moment forced_{};
    std::map<std::string, std::int64_t> numbers_; // of the keys, at the second stop
    moment ended_{};
    std::vector<std::unique_ptr<wire>> wires_;
    ordered::server server_;
    ekiden::steady_timer second_;
    std::vector<std::unique_ptr<client>> clients_;
    std::size_t requests_ = 0;
    std::size_t stop_after_ = 0;
    std::size_t answers_ = 0;
    std::size_t over_ = 0;
};

} // namespace

void serve(ekiden::sim_context& outside) {
    world all(outside);
    outside.run();
    all.check();
}

ekiden::sim::options options_of(std::uint64_t seeds) {
    using ekiden::sim::fault;
    ekiden::sim::options chosen;
    chosen.seeds = seeds;
    chosen.faults = {fault::late_task, fault::late_timer, fault::ending, fault::link_delay};
    chosen.prints = false;
    return chosen;
}

} // namespace sim_server

/// A simulated client. It pipelines the requests of a script, and may be slow, stop reading, or disconnect.
/// It checks that each reply is the right one for its request.
#pragma once

#include "script.hpp"
#include "wire.hpp"

#include <ekiden/timer/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sim_server {

inline constexpr std::size_t never = 1000; // more requests than any client has

struct behaviour {
    std::size_t pipeline = 4;           ///< largest number of requests that wait for replies
    std::size_t piece = 64;             ///< bytes that it reads at once
    std::chrono::milliseconds pause{0}; ///< between two reads
    std::size_t deaf_after = never;     ///< after this many replies, it stops reading
    std::size_t gone_after = never;     ///< after this many replies, it resets the connection
    bool ends_output = false; ///< closes its output after the last request, not after the last reply
};

class client {
public:
    client(ekiden::sim_context& outside, wire_end& end, const script& asked, const behaviour& how,
           std::vector<key_history>& keys, account_of_bytes& books, std::function<void()> answered,
           std::function<void()> over)
        : outside_(outside), end_(end), asked_(asked), how_(how), keys_(keys), books_(books),
          on_answer_(std::move(answered)), on_over_(std::move(over)), timer_(outside) {
        end_.changed = [this] { wake(); };
        wake();
    }

    [[nodiscard]] std::size_t answered() const { return answered_; }
    [[nodiscard]] bool is_deaf() const { return answered_ >= how_.deaf_after; }

private:
    void wake() {
        if (!std::exchange(is_awake_, true)) outside_.get_executor().post([this] { act(); });
    }

    void act() {
        is_awake_ = false;
        if (is_over_) return;
        if (!is_pausing_ && !is_deaf()) read();
        write();
        const bool is_content = answered_ == asked_.heard_in(asked_.bytes.size()) && !how_.ends_output;
        if (answered_ >= how_.gone_after) end_.reset();
        if (is_content || end_.is_at_end() || end_.is_reset() || (is_deaf() && end_.has_other_ended()))
            finish();
    }
    void finish() {
        is_over_ = true;
        timer_.cancel();
        end_.close();
        on_over_();
    }

    void write() {
        const std::size_t last = std::min(answered_ + how_.pipeline, asked_.requests.size());
        const std::size_t most = last == 0 ? 0 : asked_.requests[last - 1].end;
        while (sent_ < most) {
            const std::size_t size = end_.send(std::string_view(asked_.bytes).substr(sent_, most - sent_));
            if (size == 0) return;
            sent_ += size;
        }
        if (sent_ == asked_.bytes.size() && how_.ends_output) end_.end_output();
    }

    void read() {
        const std::string piece = end_.receive(how_.piece);
        if (piece.empty()) return;
        unread_ += piece;
        while (const auto reply = take_reply(unread_)) check(*reply);
        if (how_.pause.count() == 0) return wake();
        is_pausing_ = true;
        timer_.expires_after(how_.pause);
        timer_.async_wait([this](std::error_code canceled) {
            if (canceled) return;
            is_pausing_ = false;
            wake();
        });
    }

    void check(const std::vector<std::string>& reply) {
        ekiden::sim::expect(answered_ < asked_.heard_in(asked_.bytes.size()),
                            "no more replies than requests");
        const request& mine = asked_.requests[answered_];
        if (mine.what == kind::ping)
            ekiden::sim::expect(reply.back() == "ping" + std::to_string(answered_),
                                "each PING gets its own text");
        else if (mine.what == kind::quit)
            ekiden::sim::expect(reply.front() == "+OK", "QUIT is answered");
        else if (mine.what == kind::get && reply.front() == "$-1")
            ekiden::sim::expect(!has_changed(mine.key), "a key that was changed is there");
        else
            check_keys(mine, reply);
        ++answered_;
        on_answer_();
    }

    void check_keys(const request& mine, const std::vector<std::string>& reply) {
        ekiden::sim::expect(!books_.expected.empty() && reply == books_.expected.front().lines,
                            "the result is the one of running all requests one after the other");
        ekiden::sim::expect(ekiden::steady_timer::now() >= books_.expected.front().earliest,
                            "a request waits for each earlier WAIT of its keys");
        books_.expected.pop_front();
        if (mine.what == kind::several) return;
        ekiden::sim::expect(reply.size() == 3 && reply[0] == "*2", "a key's request gets two numbers");
        const std::int64_t number = std::stoll(reply[1].substr(1));
        const auto now = key_history::decode(number, std::stoll(reply[2].substr(1)));
        const std::int64_t before = asked_.bits_of(mine.key, answered_ + 1);
        const std::int64_t later = asked_.bits_of(mine.key, asked_.requests.size()) & ~before;
        ekiden::sim::expect((before & ~now.bits) == 0, "a request comes after those before it");
        ekiden::sim::expect((later & now.bits) == 0, "a request comes before those after it");
        ekiden::sim::expect(number >= last_[mine.key] + (mine.what == kind::get ? 0 : 1), "numbers grow");
        last_[mine.key] = number;
        if (mine.what != kind::get) keys_[mine.key].changed(number, now);
    }
    [[nodiscard]] bool has_changed(unsigned key) const {
        for (std::size_t i = 0; i != answered_; ++i) {
            const request& r = asked_.requests[i];
            if (r.key == key && (r.what == kind::add || r.what == kind::work)) return true;
        }
        return false;
    }

    ekiden::sim_context& outside_;
    wire_end& end_;
    const script& asked_;
    const behaviour how_;
    std::vector<key_history>& keys_;
    account_of_bytes& books_;
    const std::function<void()> on_answer_;
    const std::function<void()> on_over_;
    ekiden::steady_timer timer_;
    bool is_awake_ = false;
    bool is_pausing_ = false;
    bool is_over_ = false;
    std::size_t sent_ = 0;
    std::string unread_;
    std::size_t answered_ = 0;
    std::map<unsigned, std::int64_t> last_;
};

} // namespace sim_server

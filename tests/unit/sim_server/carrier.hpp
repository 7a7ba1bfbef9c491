/// A connection of the server whose bytes use a simulated wire. It knows what the client sends. So it always
/// knows what the server has accepted, and checks that the server closes nothing too early.
#pragma once

#include "model.hpp"
#include "script.hpp"
#include "wire.hpp"

#include <ordered_server/server.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <system_error>
#include <utility>

namespace sim_server {

/// The server's state on which the end of a connection depends.
struct ending {
    bool has_begun = false;
    bool is_forced = false; ///< stopped a second time
    moment begun{};
};

class carrier final : public ordered::connection {
public:
    carrier(ordered::server& of, wire_end& end, const script& asked, account_of_bytes& books,
            const ending& state, model& keys, int& alive)
        : connection(of), chosen_(of.chosen()), network_(of.network()), end_(end), asked_(asked),
          books_(books), state_(state), keys_(keys), alive_(alive) {
        ++alive_;
        end_.changed = [this] { look(); };
    }
    ~carrier() override {
        end_.changed = nullptr;
        --alive_;
    }

private:
    static moment now() { return ekiden::steady_timer::now(); }

    void read_some(std::span<char> into) override {
        ekiden::sim::expect(reading_.empty(), "one read at a time");
        reading_ = into;
        look();
    }
    void write_some(std::string_view bytes) override {
        ekiden::sim::expect(writing_.empty() && !bytes.empty(), "one write at a time, of something");
        writing_ = bytes;
        wrote_ = now();
        look();
    }
    void end_output() override {
        ekiden::sim::expect(is_all_answered(), "the server ends its side when all is answered");
        has_ended_ = true;
        ended_ = now();
        end_.end_output();
    }
    void close() override {
        check_close();
        is_closed_ = true;
        end_.close();
        look();
    }

    void placed(ordered::request& r) override {
        books_.expected.push_back(keys_.run(r, now()));
        if (r.what == ordered::verb::wait) waits_until_ = books_.expected.back().earliest;
    }

    void look() {
        if (std::exchange(is_posted_, true)) return;
        network_.post([this, self = shared_from_this()] {
            is_posted_ = false;
            look_at_input();
            look_at_output();
        });
    }
    /// Then the pending operations complete with an error.
    [[nodiscard]] bool is_over() const { return is_closed_ || end_.is_reset(); }
    [[nodiscard]] std::error_code error() const {
        return is_over() ? std::make_error_code(std::errc::connection_reset) : std::error_code();
    }

    void look_at_input() {
        if (reading_.empty() || !(is_over() || end_.has_arrived() || end_.is_at_end())) return;
        const std::string piece = is_over() ? "" : end_.receive(reading_.size());
        std::copy(piece.begin(), piece.end(), reading_.begin());
        reading_ = {};
        if (!state_.has_begun) {
            const bool was_inside = is_inside();
            books_.delivered += piece.size();
            got_ = now();
            if (!was_inside
                || asked_.heard_in(books_.delivered) != asked_.heard_in(books_.delivered - piece.size()))
                begun_ = now();
        }
        knows_end_ = piece.empty();
        received(error(), piece.size());
    }
    void look_at_output() {
        if (writing_.empty() || !(is_over() || end_.has_room())) return;
        const std::size_t size = is_over() ? 0 : end_.send(writing_);
        written_ += writing_.substr(0, size);
        while (take_reply(written_)) ++books_.written;
        writing_ = {};
        wrote_ = now();
        sent(error(), size);
    }

    [[nodiscard]] bool is_inside() const {
        return std::none_of(asked_.requests.begin(), asked_.requests.end(),
                            [this](const request& r) { return r.end == books_.delivered; })
               && books_.delivered != 0;
    }
    [[nodiscard]] bool is_all_answered() const {
        return writing_.empty() && written_.empty() && books_.written == asked_.heard_in(books_.delivered);
    }

    void check_close() {
        const ordered::deadlines& d = chosen_.deadline;
        const bool is_forced = state_.is_forced || (state_.has_begun && now() - state_.begun >= d.grace);
        const bool is_done = knows_end_ && is_all_answered();
        books_.is_given_up = is_forced || !(has_ended_ || is_done);
        if (now() < waits_until_)
            ekiden::sim::reached(is_forced ? "stopped during a WAIT" : "lost during a WAIT");
        if (is_forced || is_done || end_.is_reset()) return;
        if (has_ended_)
            ekiden::sim::expect(end_.has_other_ended() || now() - ended_ >= d.linger,
                                "the client may fetch its last replies");
        else if (!writing_.empty())
            ekiden::sim::expect(now() - wrote_ >= d.write, "a client has its time to take replies");
        else if (ekiden::sim::expect(is_all_answered(), "no client is given up while it waits"); is_inside())
            ekiden::sim::expect(now() - std::max(begun_, wrote_) >= d.read, "a client has its time to ask");
        else
            ekiden::sim::expect(now() - std::max(got_, wrote_) >= d.idle,
                                "a client may be silent for some time");
    }

    const ordered::options chosen_;
    const ekiden::any_executor network_;
    wire_end& end_;
    const script& asked_;
    account_of_bytes& books_;
    const ending& state_;
    model& keys_;
    int& alive_;
    std::span<char> reading_;
    std::string_view writing_;
    std::string written_; // the incomplete part of a reply
    bool is_posted_ = false;
    bool is_closed_ = false;
    bool knows_end_ = false; // whether the client has closed its side
    bool has_ended_ = false;
    moment ended_{};
    moment waits_until_{}; // not before this time, the last WAIT ends
    moment got_ = now();
    moment begun_ = now();
    moment wrote_ = now();
};

} // namespace sim_server

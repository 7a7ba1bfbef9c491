#include <ordered_server/encoding.hpp>
#include <ordered_server/server.hpp>

namespace ordered {

using clock = ekiden::steady_timer; // virtual time in a simulation

static constexpr const char* too_many_keys = "too many keys";

connection::connection(server& of)
    : server_(of), parser_(of.chosen().limit), timer_(of.network()), progress_(clock::now()),
      begun_(progress_) {}

void connection::proceed() {
    if (is_closed()) return;
    take_requests();
    send();
    end_if_done();
    receive();
    watch();
}

// ---- requests

bool connection::has_room() const {
    const limits& limit = server_.chosen().limit;
    return unplaced_ == nullptr && requests_.size() < limit.pipeline
           && request_bytes_ + output_.size() + sending_.size() < limit.output;
}

void connection::take_requests() {
    if (turn_ != nullptr && place(*unplaced_)) unplaced_ = nullptr;
    while (has_room() && !input_.empty()) {
        const request_parser::result found = parser_.parse(input_);
        if (found == request_parser::result::need_more) return;
        begun_ = progress_;
        if (found == request_parser::result::request) {
            handle(interpret(parser_.words(), server_.chosen()));
        } else {
            handle(refusal(parser_.error()));
            refuse_more();
        }
    }
}

void connection::handle(command asked) {
    request& r = requests_.emplace_back(*this, asked.what, asked.n);
    ++server_.count().requests[static_cast<std::size_t>(asked.what)];
    if (is_about_key(asked.what)) {
        const bool adds = asked.what == verb::add || asked.what == verb::work || asked.what == verb::wait;
        r.of = server_.keys().find(asked.key, adds);
        if (r.of != nullptr) {
            request_bytes_ += r.bytes();
            if (!place(r)) unplaced_ = &r;
            return;
        }
        if (adds)
            asked = refusal(too_many_keys);
        else if (asked.what == verb::get)
            encoding::null(asked.text);
        else
            encoding::simple(asked.text, "OK");
    } else if (has_several_keys(asked.what)) {
        const bool adds = asked.what != verb::mget;
        if (!adds || server_.keys().has_room_for(asked.several)) {
            for (const key_and_total& k : asked.several)
                r.several.push_back({server_.keys().find(k.key, adds), k.total});
            request_bytes_ += r.bytes();
            if (!place(r)) unplaced_ = &r;
            return;
        }
        asked = refusal(too_many_keys);
    }
    r.text = asked.what == verb::info ? server_.info() : std::move(asked.text);
    r.is_done = true;
    request_bytes_ += r.bytes();
    if (asked.what == verb::quit) refuse_more();
}

/// Accepts no more requests from the client, and drops the bytes that were read but not parsed.
void connection::refuse_more() {
    phase_ = phase::last;
    input_ = {};
}

/// Runs a request, or hands it over. Returns false if a lane is full. This connection then waits for its turn
/// in the list of one account. Connections get turns in the order in which they began to wait, one for each
/// request of the key that is finished.
bool connection::place(request& r) {
    account* const turn = std::exchange(turn_, nullptr);
    account* busiest = nullptr; // has a full lane, or another connection waits for it
    account* awaited = nullptr;
    r.for_each_account([&](account& a) {
        if (busiest == nullptr || a.under_way > busiest->under_way) busiest = &a;
        if (!a.waiting.empty()) awaited = &a;
    });
    if (awaited == nullptr || turn != nullptr) {
        // A small request is not worth a hand-over to another thread, if its keys have no other request.
        const bool is_free = awaited == nullptr && (busiest == nullptr || busiest->under_way == 0);
        if (is_free && is_small(r)) {
            placed(r);
            r.run();
            r.is_done = true;
            ++server_.count().on_the_spot;
            return true;
        }
        if (server_.work().take(r)) {
            placed(r);
            r.for_each_account([](account& a) { ++a.under_way; });
            ++under_way_;
            ++server_.count().under_way;
            return true;
        }
        awaited = busiest;
    }
    ++server_.count().waits_for_room;
    awaited->waiting.insert(turn != nullptr ? awaited->waiting.begin() : awaited->waiting.end(),
                            weak_from_this());
    if (turn != nullptr && turn != awaited) server_.pass_on_turn(*turn);
    return false;
}

bool connection::is_small(const request& r) const {
    if (r.what == verb::wait) return false;
    const std::int64_t most = server_.chosen().limit.work_on_the_spot;
    return r.what == verb::work ? r.n <= most : most >= 0;
}

void connection::came_back(request& r) {
    r.is_done = true;
    --under_way_;
    if (is_closed() && under_way_ == 0) server_.forget(*this);
}

// ---- the bytes

void connection::send() {
    while (!requests_.empty() && requests_.front().is_done
           && output_.size() < server_.chosen().limit.output) {
        request& oldest = requests_.front();
        request_bytes_ -= oldest.bytes();
        oldest.encode(output_);
        ++server_.count().replies;
        requests_.pop_front();
    }
    if (is_sending_ || is_closed()) return;
    if (sending_.empty()) sending_.swap(output_);
    if (sending_.empty()) return;
    is_sending_ = true;
    progress_ = clock::now(); // until now, the client was not expected to read
    write_some(std::string_view(sending_).substr(sent_));
}

void connection::sent(const std::error_code& error, std::size_t bytes) {
    is_sending_ = false;
    if (is_closed()) return;
    if (error) return abort();
    sent_ += bytes;
    if (sent_ == sending_.size()) sending_.resize(sent_ = 0);
    server_.count().bytes_out += bytes;
    begun_ = progress_ = clock::now(); // requests that were sent meanwhile may not have been read
    proceed();
}

void connection::receive() {
    if (is_receiving_ || is_closed() || has_client_ended_ || !input_.empty()) return;
    if (phase_ == phase::open && !has_room()) return;
    is_receiving_ = true;
    read_some(buffer_);
}

void connection::received(const std::error_code& error, std::size_t bytes) {
    is_receiving_ = false;
    if (is_closed()) return;
    if (error) return abort();
    has_client_ended_ = bytes == 0;
    server_.count().bytes_in += bytes;
    if (phase_ == phase::open) {
        progress_ = clock::now();
        if (!parser_.is_inside()) begun_ = progress_;
        input_ = {buffer_.data(), bytes};
    }
    proceed();
}

void connection::finish() {
    if (phase_ == phase::open) phase_ = phase::last;
    proceed();
}

/// Closing a socket with unread bytes resets the connection, and the client may lose replies. So this side
/// ends its output first, and discards all bytes that still arrive.
void connection::end_if_done() {
    if (is_closed() || !(has_client_ended_ || phase_ != phase::open)) return;
    if (!input_.empty() || !requests_.empty() || !output_.empty() || !sending_.empty()) return;
    if (has_client_ended_) return abort();
    if (phase_ == phase::lingering) return;
    end_output();
    phase_ = phase::lingering;
    progress_ = clock::now();
}

void connection::abort() {
    if (is_closed()) return;
    phase_ = phase::closed;
    close();
    timer_.cancel();
    input_ = {};
    server_.count().lost += requests_.size();
    if (under_way_ == 0) server_.forget(*this); // otherwise, running requests refer to this connection
}

// ---- deadlines

connection::time_point connection::due() const {
    const deadlines& d = server_.chosen().deadline;
    if (phase_ == phase::lingering) return progress_ + d.linger;
    if (is_sending_) return progress_ + d.write;
    if (!requests_.empty()) return time_point::max(); // the server is working
    if (parser_.is_inside()) return begun_ + d.read;
    return progress_ + d.idle;
}

/// Sets the timer only if it would fire too late. If it fires too early, the only cost is reading the clock.
void connection::watch() {
    if (is_closed() || due() >= armed_) return;
    armed_ = due();
    timer_.expires_at(armed_);
    timer_.async_wait([weak = weak_from_this()](std::error_code canceled) {
        const auto self = weak.lock();
        if (self && !canceled) self->look_at_clock();
    });
}

void connection::look_at_clock() {
    armed_ = time_point::max();
    if (is_closed()) return;
    if (clock::now() < due()) return watch();
    if (phase_ != phase::lingering) ++server_.count().too_late;
    abort();
}

} // namespace ordered

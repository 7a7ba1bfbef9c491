/// A simulated TCP connection. Bytes keep their order and arrive in pieces of any size. The receiver's free
/// room limits the bytes in flight. If one side closes too early, the connection is reset.
#pragma once

#include <ekiden/sim/checks.hpp>
#include <ekiden/sim/link.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace sim_server {

class wire;

/// One of the two ends. Its functions are called in the context of its side.
class wire_end {
public:
    /// Called when bytes or the other side's end have arrived, when there is room again, or when the
    /// connection is lost.
    std::function<void()> changed;

    /// Sends some of the bytes and returns how many. 0 if there is no room.
    [[nodiscard]] std::size_t send(std::string_view bytes) {
        const std::size_t most = std::min(bytes.size(), room_);
        if (most == 0 || is_reset_) return 0;
        const std::size_t size = some_of(most);
        room_ -= size;
        transmit([this, piece = std::string(bytes.substr(0, size))] { other_->arrive(piece); });
        return size;
    }
    /// Returns some of the bytes that have arrived. Empty if there are none.
    [[nodiscard]] std::string receive(std::size_t most) {
        most = std::min(most, arrived_.size());
        if (most == 0) return {};
        const std::size_t size = some_of(most);
        std::string piece = arrived_.substr(0, size);
        arrived_.erase(0, size);
        transmit([this, size] {
            other_->room_ += size;
            other_->tell();
        });
        return piece;
    }
    /// Tells the other side that no more bytes will follow.
    void end_output() {
        if (std::exchange(has_ended_, true)) return;
        transmit([this] {
            other_->has_other_ended_ = true;
            other_->tell();
        });
    }
    /// Like close() of a socket. If bytes are unread, now or later, it resets the connection.
    void close() {
        is_closed_ = true;
        end_output();
        if (!arrived_.empty()) reset();
    }
    /// Breaks the connection. Bytes in flight are lost.
    void reset() { link_->cut(); }

    [[nodiscard]] bool has_room() const { return room_ != 0; }
    [[nodiscard]] bool has_arrived() const { return !arrived_.empty(); }
    /// Returns whether no more bytes will arrive.
    [[nodiscard]] bool is_at_end() const { return arrived_.empty() && has_other_ended_; }
    [[nodiscard]] bool has_other_ended() const { return has_other_ended_; }
    [[nodiscard]] bool is_reset() const { return is_reset_; }

private:
    friend class wire;

    /// Returns a number from 1 to `most`. The dull choice is `most`.
    static std::size_t some_of(std::size_t most) {
        return most - ekiden::sim::choose(static_cast<std::uint32_t>(most));
    }

    void arrive(const std::string& piece) {
        if (is_closed_) return reset();
        arrived_ += piece;
        tell();
    }
    void tell() {
        if (changed) changed();
    }
    template <class F>
    void transmit(F&& f) {
        if (*messages_left_ != 0 && --*messages_left_ == 0) reset();
        (void)(is_server_ ? link_->send(std::forward<F>(f)) : link_->send_back(std::forward<F>(f)));
    }

    ekiden::sim::link* link_ = nullptr;
    wire_end* other_ = nullptr;
    std::size_t* messages_left_ = nullptr;
    bool is_server_ = false;
    std::size_t room_ = 0;
    std::string arrived_;
    bool has_ended_ = false;
    bool has_other_ended_ = false;
    bool is_closed_ = false;
    bool is_reset_ = false;
};

class wire {
public:
    /// `room` limits the bytes in each direction that are in flight or not received yet. The connection
    /// breaks at message number `messages`. 0: never.
    wire(ekiden::sim_context& network, ekiden::sim_context& outside, std::size_t room, std::size_t messages)
        : link_(network, outside, "a connection"), messages_left_(messages) {
        for (wire_end* const one : {&server, &client}) {
            one->link_ = &link_;
            one->other_ = one == &server ? &client : &server;
            one->is_server_ = one == &server;
            one->room_ = room;
            one->messages_left_ = &messages_left_;
        }
        link_.on_cut([this] {
            for (wire_end* const one : {&server, &client}) {
                one->is_reset_ = true;
                one->tell();
            }
        });
    }

    [[nodiscard]] bool is_cut() const { return link_.is_cut(); }

    wire_end server;
    wire_end client;

private:
    ekiden::sim::link link_;
    std::size_t messages_left_;
};

} // namespace sim_server

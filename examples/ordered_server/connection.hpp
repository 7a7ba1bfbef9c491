/// One client. Reads requests, passes them to the lanes of their keys, and sends the replies in the order of
/// the requests, whatever the order in which they finish.
///
/// All of it runs on the network's executor. The connection limits what a client can use: it reads only while
/// there is room for requests, for replies, and in the lane of the next key. It does not depend on sockets. A
/// derived class transports the bytes.
#pragma once

#include <ordered_server/request.hpp>
#include <ordered_server/request_parser.hpp>

#include <ekiden/timer.hpp>

#include <array>
#include <deque>
#include <span>
#include <system_error>

namespace ordered {

class server;

class connection : public std::enable_shared_from_this<connection> {
public:
    explicit connection(server& of);
    virtual ~connection() = default;

    /// Does everything that can be done now. Called after every event. Extra calls are harmless.
    void proceed();
    /// A request of this connection has been run. proceed() follows, once for several requests.
    void came_back(request& r);
    /// This connection may ask for room now: its turn comes from the waiting list of `of`. proceed() follows.
    void has_turn(account& of) { turn_ = &of; }
    /// Accepts no more requests, and ends after all accepted ones have been answered.
    void finish();
    /// Ends now. Requests that are under way come back later. The client gets no reply.
    void abort();

    [[nodiscard]] bool is_closed() const { return phase_ == phase::closed; }
    /// Whether it is in the server's list of connections with events.
    bool is_listed = false;
    /// The number of the connection, starting at 1.
    std::uint64_t number = 0;

protected:
    /// The result of read_some(). No bytes and no error mean that the client has closed its side.
    void received(const std::error_code& error, std::size_t bytes);
    /// The result of write_some(): the number of bytes that were sent.
    void sent(const std::error_code& error, std::size_t bytes);

private:
    // Transport of the bytes. Only one read and one write run at a time. They complete later, on the
    // network's executor.
    virtual void read_some(std::span<char> into) = 0;
    virtual void write_some(std::string_view bytes) = 0;
    /// Tells the client that no more bytes will follow.
    virtual void end_output() = 0;
    /// Closes the connection. Pending reads and writes complete with an error, or never.
    virtual void close() = 0;
    /// Tells a test that a request has its place in the order of its keys.
    virtual void placed(request& /*r*/) {}

    using time_point = std::chrono::steady_clock::time_point;
    enum class phase {
        open, // accepts requests
        last, // accepts no more requests
        // Everything is answered; waits until the client closes its side, so that the replies arrive.
        lingering,
        closed
    };

    void take_requests();
    void refuse_more();
    void handle(command asked);
    [[nodiscard]] bool is_small(const request& r) const;
    bool place(request& r);
    void send();
    void receive();
    void end_if_done();

    [[nodiscard]] bool has_room() const;
    [[nodiscard]] time_point due() const;
    void watch();
    void look_at_clock();

    server& server_;
    phase phase_ = phase::open;

    request_parser parser_;
    std::array<char, 16 * 1024> buffer_;
    std::string_view input_; // the part of the buffer that has not been parsed
    bool is_receiving_ = false;
    bool has_client_ended_ = false;

    std::deque<request> requests_;  // in order of arrival; answered requests are removed
    request* unplaced_ = nullptr;   // the last request, if there is no room in its lane
    account* turn_ = nullptr;       // the account that lets it ask for room again
    std::size_t under_way_ = 0;     // number of requests that were handed over and are not back
    std::size_t request_bytes_ = 0; // bytes that the requests hold, see request::bytes()

    std::string output_;   // replies that are waiting
    std::string sending_;  // replies that the system is sending
    std::size_t sent_ = 0; // number of bytes of `sending_` that were sent
    bool is_sending_ = false;

    ekiden::steady_timer timer_;
    time_point armed_ = time_point::max(); // when the timer fires
    time_point progress_;                  // when the client last made progress
    time_point begun_;                     // when the incomplete request began
};

} // namespace ordered

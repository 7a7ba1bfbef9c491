/// One client: reads requests, hands them to the lanes of their keys, and sends the replies in the order of
/// the requests, in whichever order they come back.
///
/// All of it runs on the network. What keeps a client from taking too much: it is read only while there is
/// room for its requests, for their replies and in the lane of the key that comes next. It knows no sockets:
/// what carries the bytes derives from it.
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

    /// Does what can be done now. After whatever has happened; calling it too often does no harm.
    void proceed();
    /// A request of this connection has been run. proceed() comes later, once for many of these.
    void came_back(request& r);
    /// Its turn to ask its lane for room has come; then proceed().
    void has_turn() { has_turn_ = true; }
    /// Takes no more from the client, and ends when all that was taken is answered.
    void finish();
    /// Ends now. Requests that are under way come back later, and nobody is told.
    void abort();

    [[nodiscard]] bool is_closed() const { return phase_ == phase::closed; }
    /// For the server's list of those that something has happened to.
    bool is_listed = false;
    /// Among the server's connections, from 1 on.
    std::uint64_t number = 0;

protected:
    /// The bytes that read_some() has asked for. None, and no error: the client has ended its side.
    void received(const std::error_code& error, std::size_t bytes);
    /// So many of those that write_some() was given have gone.
    void sent(const std::error_code& error, std::size_t bytes);

private:
    // What carries the bytes. One read and one write at a time; their ends come later, from the network.
    virtual void read_some(std::span<char> into) = 0;
    virtual void write_some(std::string_view bytes) = 0;
    /// The client learns that nothing more will come.
    virtual void end_output() = 0;
    /// What is under way ends with an error, or never.
    virtual void close() = 0;

    using time_point = std::chrono::steady_clock::time_point;
    enum class phase {
        open,      // takes requests
        last,      // takes no more
        lingering, // all is answered; waits for the client to end its side, so that the replies arrive
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
    std::string_view input_; // of the buffer, not yet parsed
    bool is_receiving_ = false;
    bool has_client_ended_ = false;

    std::deque<request> requests_; // in their order; those that have been answered are gone
    request* unplaced_ = nullptr;  // the last of them, if there is no room in its lane
    bool has_turn_ = false;        // to ask again
    std::size_t under_way_ = 0;    // handed over, and not back
    std::size_t text_bytes_ = 0;   // of replies among them that are texts

    std::string output_;   // replies that wait
    std::string sending_;  // those that the system is being given,
    std::size_t sent_ = 0; // and has so much of
    bool is_sending_ = false;

    ekiden::steady_timer timer_;
    time_point armed_ = time_point::max(); // when the timer rings
    time_point progress_;                  // when the client last did something
    time_point begun_;                     // when the request began that is not whole
};

} // namespace ordered

/// The counters of the server.
#pragma once

#include <ordered_server/command.hpp>

#include <ekiden/observe.hpp>

#include <iterator>

namespace ordered {

/// Only the network thread uses these, so they are plain numbers.
struct counters {
    std::uint64_t requests[std::size(verb_names)]{}; ///< accepted requests, by command
    std::uint64_t connections = 0;
    std::uint64_t refused = 0;
    std::uint64_t accept_failures = 0;
    std::uint64_t on_the_spot = 0;
    std::uint64_t under_way = 0; ///< current number
    std::uint64_t replies = 0;
    std::uint64_t lost = 0;
    std::uint64_t waits_for_room = 0;
    std::uint64_t too_late = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;

    void add_to(ekiden::prometheus_page& page) const {
        for (std::size_t i = 0; i != std::size(requests); ++i)
            page.counter("ordered_server_requests_total", "Requests taken.", requests[i],
                         {{"verb", verb_names[i]}});
        page.gauge("ordered_server_requests_under_way", "Requests handed over and not back.",
                   static_cast<double>(under_way));
        const auto add = [&page](const char* name, const char* help, std::uint64_t value) {
            page.counter("ordered_server_" + std::string(name), help, value);
        };
        add("connections_total", "Connections accepted.", connections);
        add("connections_refused_total", "Connections too many.", refused);
        add("accept_failures_total", "Connections that the system did not give.", accept_failures);
        add("on_the_spot_total", "Requests run by the network's thread.", on_the_spot);
        add("replies_total", "Replies to requests.", replies);
        add("replies_lost_total", "Requests whose client was gone before the reply.", lost);
        add("waits_for_room_total", "Times that a full lane stopped a connection.", waits_for_room);
        add("too_late_total", "Connections ended by a deadline.", too_late);
        add("received_bytes_total", "Bytes received.", bytes_in);
        add("sent_bytes_total", "Bytes sent.", bytes_out);
    }
};

} // namespace ordered

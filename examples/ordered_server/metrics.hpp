/// What the server counts, and how Prometheus reads it.
#pragma once

#include <ordered_server/command.hpp>

#include <iterator>

namespace ordered {

/// Appends a metric. One that has come before, with another label, gets no second head.
inline void metric(std::string& to, std::string_view name, std::string_view help, std::uint64_t value,
                   std::string_view label = {}, std::string_view label_value = {}) {
    const std::string full = "ordered_server_" + std::string(name);
    const std::string head = "# TYPE " + full + (name.ends_with("_total") ? " counter\n" : " gauge\n");
    if (to.find(head) == std::string::npos)
        to.append("# HELP " + full + ' ').append(help).append("\n" + head);
    to += full;
    if (!label.empty()) {
        to.append("{").append(label).append("=\"");
        for (const char c : label_value.substr(0, 64)) // a key can have any bytes
            to += c >= ' ' && c <= '~' && c != '"' && c != '\\' ? c : '?';
        to += "\"}";
    }
    to.append(" " + std::to_string(value) + '\n');
}

/// The network thread's; plain.
struct counters {
    std::uint64_t requests[std::size(verb_names)]{}; ///< taken, by what they ask for
    std::uint64_t connections = 0;
    std::uint64_t refused = 0;
    std::uint64_t accept_failures = 0;
    std::uint64_t on_the_spot = 0;
    std::uint64_t replies = 0;
    std::uint64_t lost = 0;
    std::uint64_t waits_for_room = 0;
    std::uint64_t too_late = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;

    void describe(std::string& to) const {
        for (std::size_t i = 0; i != std::size(requests); ++i)
            metric(to, "requests_total", "Requests taken.", requests[i], "verb", verb_names[i]);
        metric(to, "connections_total", "Connections accepted.", connections);
        metric(to, "connections_refused_total", "Connections too many.", refused);
        metric(to, "accept_failures_total", "Connections that the system did not give.", accept_failures);
        metric(to, "on_the_spot_total", "Requests run by the network's thread.", on_the_spot);
        metric(to, "replies_total", "Replies to requests.", replies);
        metric(to, "replies_lost_total", "Requests whose client was gone before the reply.", lost);
        metric(to, "waits_for_room_total", "Times that a full lane stopped a connection.", waits_for_room);
        metric(to, "too_late_total", "Connections ended by a deadline.", too_late);
        metric(to, "bytes_in_total", "Bytes received.", bytes_in);
        metric(to, "bytes_out_total", "Bytes sent.", bytes_out);
    }
};

} // namespace ordered

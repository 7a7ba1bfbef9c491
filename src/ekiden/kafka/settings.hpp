/// How the parts of `ekiden::kafka` reach the brokers.
///
/// Part: kafka. Used by: programs. Kafka's protocol is the work of librdkafka.
#pragma once

#include <ekiden/records/record.hpp>
#include <ekiden/records/request.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::kafka {

using records::header;
using records::headers;
using records::position;
using records::reply;
using records::request;

/// The brokers, and the settings of librdkafka. The constructors of `poster` and `worker` check all settings
/// before the first connection. They throw std::invalid_argument with the name of the wrong setting.
struct settings {
    std::string brokers; ///< The first brokers to ask, like "one:9092,two:9092". They tell the other brokers.
    /// Pairs of a name and a value for librdkafka, for example {"security.protocol", "ssl"}. Settings on
    /// which a promise of this library depends are refused, for example "acks".
    std::vector<std::pair<std::string, std::string>> more = {};
    /// Called with each line of librdkafka's log, and with the level of syslog(3). Threads of librdkafka call
    /// this function, also several at once. It must not throw. Without a function, the log is dropped.
    std::function<void(int level, std::string_view line)> log = {};
};

} // namespace ekiden::inline EKIDEN_ABI::kafka

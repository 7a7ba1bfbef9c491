#include <ekiden/kafka/detail/client.hpp>
#include <ekiden/sys/bad_argument.hpp>

#include <algorithm>
#include <stdexcept>
#include <system_error>

namespace ekiden::inline EKIDEN_ABI::kafka {

const char* to_string(error_kind kind) noexcept {
    switch (kind) {
    case error_kind::retriable:
        return "retriable";
    case error_kind::abortable:
        return "abortable";
    case error_kind::fenced:
        return "fenced";
    case error_kind::fatal:
        break;
    }
    return "fatal";
}

namespace detail {
namespace {

constexpr std::string_view whose = "kafka::settings";

/// The settings that no program can choose.
constexpr fixed_setting always_fixed[] = {
    {"bootstrap.servers", "settings::brokers"},
    {"metadata.broker.list", "settings::brokers"},
    {"opaque", "no value"},
    {"enabled_events", "no value"},
    {"log.queue", "no value"},
    {"test.mock.num.brokers", "no value"},
};

void write_log(const rd_kafka_t* client, int level, const char* facility, const char* text) {
    const auto* const base = static_cast<const client_base*>(rd_kafka_opaque(client));
    if (base == nullptr || !base->configured.log) return;
    base->configured.log(level, std::string(facility) + ": " + text);
}

/// Checks "host:port,host:port". librdkafka itself accepts every text, and then waits for ever.
void check_brokers(const std::string& brokers) {
    const auto refuse = [&] {
        sys::refuse_argument(whose, "brokers", '"' + brokers + '"',
                             "a list of host:port, separated by commas");
    };
    std::size_t begin = 0;
    while (true) {
        const std::size_t end = std::min(brokers.find(',', begin), brokers.size());
        std::string_view one = std::string_view(brokers).substr(begin, end - begin);
        if (const auto scheme = one.find("://"); scheme != one.npos) one.remove_prefix(scheme + 3);
        const auto colon = one.rfind(':');
        const bool has_port = colon != one.npos && one.find(']', colon) == one.npos;
        const std::string_view host = one.substr(0, has_port ? colon : one.size());
        if (host.empty() || host.find_first_of(std::string_view(" \t\n/\0", 5)) != host.npos) refuse();
        if (has_port) {
            const std::string_view port = one.substr(colon + 1);
            const bool is_number =
                !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == port.npos;
            if (!is_number || std::stoi(std::string(port)) > 65'535 || std::stoi(std::string(port)) == 0)
                refuse();
        }
        if (end == brokers.size()) return;
        begin = end + 1;
    }
}

} // namespace

configuration::configuration(const settings& where, std::span<const fixed_setting> fixed)
    : chosen_(where), conf_(rd_kafka_conf_new()) {
    check_brokers(where.brokers);
    for (const auto& [name, value] : where.more) {
        const std::string argument = "more[\"" + name + "\"]";
        if ((name + value).find('\0') != name.npos) // librdkafka would read only the text before it
            sys::refuse_argument(whose, "more", "a text with a zero byte", "texts without zero bytes");
        const auto is_same = [&wanted = name](const fixed_setting& one) { return one.name == wanted; };
        for (const std::span<const fixed_setting> list :
             {std::span<const fixed_setting>(always_fixed), fixed})
            if (const auto at = std::ranges::find_if(list, is_same); at != list.end())
                sys::refuse_argument(whose, argument, '"' + value + '"', at->allowed);
        char reason[512];
        switch (rd_kafka_conf_set(conf_.get(), name.c_str(), value.c_str(), reason, sizeof reason)) {
        case RD_KAFKA_CONF_OK:
            break;
        case RD_KAFKA_CONF_UNKNOWN:
            sys::refuse_argument(whose, argument, '"' + value + '"', "only a setting of librdkafka");
        case RD_KAFKA_CONF_INVALID:
            sys::refuse_argument(whose, argument, '"' + value + '"', std::string("another value: ") + reason);
        }
    }
    set("bootstrap.servers", where.brokers);
    rd_kafka_conf_set_log_cb(conf_.get(), &write_log);
}

void configuration::set(const char* name, const std::string& value) {
    char reason[512];
    if (rd_kafka_conf_set(conf_.get(), name, value.c_str(), reason, sizeof reason) != RD_KAFKA_CONF_OK)
        sys::refuse_argument(whose, name, '"' + value + '"', reason);
}

void configuration::set_default(std::string_view name, const std::string& value) {
    if (std::ranges::none_of(chosen_.more, [&](const auto& one) { return one.first == name; }))
        set(std::string(name).c_str(), value);
}

std::size_t configuration::most_bytes() const {
    char text[32];
    std::size_t size = sizeof text;
    const bool is_known =
        rd_kafka_conf_get(conf_.get(), "message.max.bytes", text, &size) == RD_KAFKA_CONF_OK;
    return is_known ? std::stoul(text) : 1'000'000;
}

client_handle configuration::make(rd_kafka_type_t type) {
    char reason[512];
    rd_kafka_t* const made = rd_kafka_new(type, conf_.get(), reason, sizeof reason);
    if (made == nullptr && rd_kafka_last_error() == RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE)
        throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again),
                                "ekiden: kafka: a thread of librdkafka");
    if (made == nullptr)
        throw std::invalid_argument("ekiden: kafka::settings: librdkafka refuses the settings: "
                                    + std::string(reason));
    static_cast<void>(conf_.release()); // the client owns it now
    return client_handle(made);
}

std::vector<rd_kafka_vu_t> parts_of(std::optional<std::string_view> key,
                                    std::optional<std::string_view> value, const records::headers& with) {
    const auto bytes_of = [](std::string_view text) {
        // A null pointer means to librdkafka that there is no key or value.
        return const_cast<char*>(text.data() == nullptr ? "" : text.data());
    };
    std::vector<rd_kafka_vu_t> parts(3 + with.size());
    parts[0].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
    parts[0].u.i = RD_KAFKA_MSG_F_COPY;
    parts[1].vtype = RD_KAFKA_VTYPE_KEY;
    parts[1].u.mem = {key ? bytes_of(*key) : nullptr, key ? key->size() : 0};
    parts[2].vtype = RD_KAFKA_VTYPE_VALUE;
    parts[2].u.mem.ptr = value ? bytes_of(*value) : nullptr;
    parts[2].u.mem.size = value ? value->size() : 0;
    for (std::size_t i = 0; i < with.size(); ++i) {
        parts[3 + i].vtype = RD_KAFKA_VTYPE_HEADER;
        parts[3 + i].u.header = {with[i].name.c_str(), bytes_of(with[i].value),
                                 static_cast<ssize_t>(with[i].value.size())};
    }
    return parts;
}

error_kind kind_of(rd_kafka_resp_err_t code) noexcept {
    switch (code) {
    case RD_KAFKA_RESP_ERR__FENCED:
    case RD_KAFKA_RESP_ERR_PRODUCER_FENCED:
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH:
        return error_kind::fenced;
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
    case RD_KAFKA_RESP_ERR__QUEUE_FULL:
    case RD_KAFKA_RESP_ERR__WAIT_COORD:
    case RD_KAFKA_RESP_ERR__IN_PROGRESS:
    case RD_KAFKA_RESP_ERR__RETRY:
    case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
    case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
    case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
    case RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_COORDINATOR:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND:
    case RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS:
    case RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR:
    case RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT:
    case RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED:
        return error_kind::retriable;
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_MSG:
    case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID:
    case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID:
        return error_kind::abortable;
    default:
        return error_kind::fatal;
    }
}

error make_error(std::string_view what, rd_kafka_resp_err_t code, std::string_view reason, bool is_in_doubt) {
    std::string text = "ekiden: kafka: ";
    text.append(what).append(": ").append(rd_kafka_err2name(code)).append(": ");
    text.append(reason.empty() ? rd_kafka_err2str(code) : reason);
    return error(text, kind_of(code), code, is_in_doubt);
}

error make_error(std::string_view what, const rd_kafka_error_t& reported) {
    const rd_kafka_resp_err_t code = rd_kafka_error_code(&reported);
    error_kind kind = kind_of(code);
    // Flags decide first. An error without a flag comes from wrong use or is unknown, so it is fatal.
    if (rd_kafka_error_is_fatal(&reported) != 0) {
        if (kind != error_kind::fenced) kind = error_kind::fatal;
    } else if (rd_kafka_error_txn_requires_abort(&reported) != 0) {
        kind = error_kind::abortable;
    } else if (rd_kafka_error_is_retriable(&reported) != 0) {
        kind = error_kind::retriable;
    } else if (kind != error_kind::fenced) {
        kind = error_kind::fatal;
    }
    std::string text = "ekiden: kafka: ";
    text.append(what).append(": ").append(rd_kafka_error_name(&reported)).append(": ");
    text.append(rd_kafka_error_string(&reported));
    return error(text, kind, code, kind == error_kind::retriable);
}

void expect_success(std::string_view what, rd_kafka_resp_err_t code) {
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) throw make_error(what, code);
}

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI::kafka

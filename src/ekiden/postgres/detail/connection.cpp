#include <ekiden/postgres/detail/connection.hpp>
#include <ekiden/sys/bad_argument.hpp>

#include <algorithm>
#include <charconv>

namespace ekiden::inline EKIDEN_ABI::postgres {

bool error::is_transient() const noexcept {
    // Connections, conflicts between transactions, lack of resources, intervention of an operator.
    for (const std::string_view kind : {"08", "40", "53", "57", "55"})
        if (sqlstate_.starts_with(kind)) return true;
    return sqlstate_.empty() || sqlstate_ == "25P03"
           || sqlstate_ == "25P04"; // time-outs of idle transactions
}

namespace detail {

std::string rows::bytes(int row, int column) const {
    std::string_view hex = text(row, column);
    if (!hex.starts_with("\\x")) // a function has changed the setting. A new connection has it again.
        throw error("ekiden: postgres: bytea_output is not hex any more", "");
    hex.remove_prefix(2);
    std::string result(hex.size() / 2, '\0');
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    for (std::size_t i = 0; i != result.size(); ++i)
        result[i] = static_cast<char>(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
    return result;
}

std::string in_schema(std::string_view sql, const std::string& schema) {
    std::string result;
    // The quotation marks allow names that are key words of SQL.
    for (const char c : sql) c == '@' ? result += '"' + schema + "\"." : result += c;
    return result;
}

rows execute(PGconn* on, const char* sql, const std::vector<parameter>& with) {
    std::vector<const char*> values;
    values.reserve(with.size());
    for (const parameter& one : with) values.push_back(one ? one->c_str() : nullptr);
    rows result(with.empty() ? PQexec(on, sql)
                             : PQexecParams(on, sql, static_cast<int>(values.size()), nullptr, values.data(),
                                            nullptr, nullptr, 0));
    const ExecStatusType status = PQresultStatus(result.get());
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return result;
    const char* const state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
    throw error(std::string("ekiden: postgres: ") + PQerrorMessage(on),
                state == nullptr || PQstatus(on) != CONNECTION_OK ? "" : state);
}

connection::connection(const settings& where, const std::string& name)
    : schema_(where.schema), handle_(nullptr, &PQfinish) {
    // The entry dbname is a whole connection string. It overrides earlier entries. Without a time-out, a
    // connection to a machine that has gone would block its thread for a quarter of an hour.
    const char* const names[] = {"keepalives_idle",
                                 "keepalives_interval",
                                 "tcp_user_timeout",
                                 "connect_timeout",
                                 "fallback_application_name",
                                 "dbname",
                                 nullptr};
    const char* const values[] = {"10", "5", "30000", "5", name.c_str(), where.connection.c_str(), nullptr};
    handle_.reset(PQconnectdbParams(names, values, 1));
    if (handle_ == nullptr) throw std::bad_alloc();
    if (PQstatus(handle_.get()) != CONNECTION_OK)
        throw error(std::string("ekiden: postgres: cannot connect: ") + PQerrorMessage(handle_.get()), "");
    PQsetNoticeProcessor(handle_.get(), [](void*, const char*) {}, nullptr); // no notices on standard error
    execute("set bytea_output = hex");
}

void check_schema(const std::string& schema) {
    const std::string_view letters = "abcdefghijklmnopqrstuvwxyz_";
    if (schema.empty() || schema.size() > 40 || letters.find(schema[0]) == letters.npos
        || schema.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") != std::string::npos)
        sys::refuse_argument("postgres::settings", "schema", '"' + schema + '"',
                             "1 to 40 lower-case letters, digits and _, not beginning with a digit");
}

void check(const settings& where) {
    if (where.connection.empty())
        sys::refuse_argument("postgres::settings", "connection", "\"\"", "a connection string of libpq");
    char* reason = nullptr;
    PQconninfoOption* const options = PQconninfoParse(where.connection.c_str(), &reason);
    const std::string why = reason == nullptr ? "" : std::string(" (") + reason + ')';
    if (reason != nullptr) PQfreemem(reason);
    if (options == nullptr) // the text is not shown, because it can contain a password
        sys::refuse_argument("postgres::settings", "connection", "not readable" + why,
                             "a connection string of libpq");
    PQconninfoFree(options);
    check_schema(where.schema);
}

void check_queue(std::string_view what, std::string_view option, const std::string& queue) {
    const bool has_nul = queue.find('\0') != std::string::npos;
    if (has_nul || queue.empty() || queue.size() > 200)
        sys::refuse_argument(what, option, has_nul ? "a text with NUL" : '"' + queue + '"',
                             "1 to 200 characters without NUL");
}

std::string bytea(std::string_view bytes) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text(2 + 2 * bytes.size(), '\\');
    text[1] = 'x';
    for (std::size_t i = 0; i != bytes.size(); ++i) {
        const auto byte = static_cast<unsigned char>(bytes[i]);
        text[2 + 2 * i] = digits[byte >> 4];
        text[3 + 2 * i] = digits[byte & 15];
    }
    return text;
}

std::string packed(const records::headers& with) {
    std::string bytes;
    const auto add = [&](const std::string& text) { bytes += std::to_string(text.size()) + ':' + text; };
    for (const auto& [name, value] : with) {
        add(name);
        add(value);
    }
    return bytes;
}

records::headers unpacked(std::string_view bytes) {
    records::headers with;
    const auto next = [&] {
        std::size_t length = 0;
        const char* const end = bytes.data() + bytes.size();
        const auto [behind, failure] = std::from_chars(bytes.data(), end, length);
        if (failure != std::errc() || behind == end || *behind != ':'
            || static_cast<std::size_t>(end - behind - 1) < length)
            throw error("ekiden: postgres: the headers of a record are not readable", "22000");
        std::string text(behind + 1, length);
        bytes.remove_prefix(static_cast<std::size_t>(behind - bytes.data()) + 1 + length);
        return text;
    };
    while (!bytes.empty()) {
        std::string name = next();
        with.push_back({std::move(name), next()});
    }
    return with;
}

std::vector<std::int64_t> insert_records(PGconn* on, const std::string& schema,
                                         const std::vector<records::outgoing>& records, std::size_t most) {
    std::size_t bytes = 0;
    for (const records::outgoing& record : records) {
        bytes += record.topic.size() + record.key.size() + (record.value ? record.value->size() : 0);
        for (const auto& [name, value] : record.with) bytes += name.size() + value.size();
    }
    if (bytes > most)
        throw error("ekiden: postgres: the records of a statement have " + std::to_string(bytes)
                        + " bytes, allowed are " + std::to_string(most),
                    "54000"); // program_limit_exceeded
    array queues, keys, values, with;
    for (const records::outgoing& record : records) {
        check_queue("postgres", "the queue of a record", record.topic);
        queues.add_bytes(record.topic);
        keys.add_bytes(record.key);
        record.value ? values.add_bytes(*record.value) : values.add_null();
        record.with.empty() ? with.add_null() : with.add_bytes(packed(record.with));
    }
    const std::string sql = in_schema(
        "insert into @record (queue, key, value, headers) select convert_from(q, 'UTF8'), k, v, h from "
        "unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bytea[]) with ordinality as r(q, k, v, h, n) "
        "order by n returning id",
        schema);
    const rows inserted = execute(on, sql.c_str(), {queues.text(), keys.text(), values.text(), with.text()});
    std::vector<std::int64_t> ids;
    for (int row = 0; row != inserted.count(); ++row) ids.push_back(inserted.number(row, 0));
    std::sort(ids.begin(), ids.end()); // the numbers are given in the order of the rows
    return ids;
}

} // namespace detail

} // namespace ekiden::inline EKIDEN_ABI::postgres

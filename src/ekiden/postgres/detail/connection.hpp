/// A connection of libpq that reports errors as exceptions, and the values that its statements need.
///
/// Part: postgres. Private.
#pragma once

#include <ekiden/postgres/settings.hpp>
#include <ekiden/records/record.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <libpq-fe.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::postgres::detail {

/// The rows of a statement.
class rows {
public:
    explicit rows(PGresult* of) noexcept : of_(of, &PQclear) {}
    [[nodiscard]] int count() const noexcept { return PQntuples(of_.get()); }
    [[nodiscard]] bool is_null(int row, int column) const noexcept {
        return PQgetisnull(of_.get(), row, column) != 0;
    }
    [[nodiscard]] std::string_view text(int row, int column) const noexcept {
        return {PQgetvalue(of_.get(), row, column),
                static_cast<std::size_t>(PQgetlength(of_.get(), row, column))};
    }
    [[nodiscard]] std::int64_t number(int row, int column) const {
        return std::stoll(PQgetvalue(of_.get(), row, column));
    }
    [[nodiscard]] bool flag(int row, int column) const noexcept {
        return *PQgetvalue(of_.get(), row, column) == 't';
    }
    /// Returns the bytes of a bytea.
    [[nodiscard]] std::string bytes(int row, int column) const;
    /// Returns the number of rows that the statement has changed.
    [[nodiscard]] std::int64_t changed() const { return std::atoll(PQcmdTuples(of_.get())); }
    [[nodiscard]] const PGresult* get() const noexcept { return of_.get(); }

private:
    std::unique_ptr<PGresult, decltype(&PQclear)> of_;
};

/// A parameter of a statement, as text. An empty optional is NULL.
using parameter = std::optional<std::string>;

/// Replaces each '@' by the schema in quotation marks and a dot.
[[nodiscard]] std::string in_schema(std::string_view sql, const std::string& schema);

/// Executes a statement on a connection. Throws error.
rows execute(PGconn* on, const char* sql, const std::vector<parameter>& with = {});

/// An open connection. Closes it when destroyed. One thread at a time may use it.
class connection {
public:
    /// Connects. `name` is shown in pg_stat_activity. Throws error with an empty SQLSTATE.
    connection(const settings& where, const std::string& name);
    /// Executes a statement, in which '@' means the schema and a dot. Throws error.
    rows execute(std::string_view sql, const std::vector<parameter>& with = {}) {
        return detail::execute(handle_.get(), in_schema(sql, schema_).c_str(), with);
    }
    [[nodiscard]] PGconn* get() const noexcept { return handle_.get(); }

private:
    const std::string schema_;
    std::unique_ptr<PGconn, decltype(&PQfinish)> handle_;
};

/// Returns the time before the next attempt to connect, from the time before the last one.
[[nodiscard]] constexpr std::chrono::milliseconds next_delay(std::chrono::milliseconds last) noexcept {
    return std::clamp(2 * last, std::chrono::milliseconds(50), std::chrono::milliseconds(800));
}

/// Throws std::invalid_argument if a setting is not allowed.
void check(const settings& where);
/// The same for the name of a schema.
void check_schema(const std::string& schema);
/// The same for the name of a queue. `what` names the class.
void check_queue(std::string_view what, std::string_view option, const std::string& queue);

/// Returns bytes in the text form of bytea.
[[nodiscard]] std::string bytea(std::string_view bytes);

/// Writes the text form of an array. All values must be without quotes, except texts of bytea.
class array {
public:
    void add(std::int64_t number) { append(std::to_string(number)); }
    void add_bytes(std::string_view bytes) { append("\"\\" + bytea(bytes) + '"'); }
    void add_null() { append("NULL"); }
    void add_text(std::string_view text) { append('"' + std::string(text) + '"'); } // such as a ctid
    [[nodiscard]] std::string text() const { return '{' + text_ + '}'; }

private:
    void append(const std::string& item) {
        if (!text_.empty()) text_ += ',';
        text_ += item;
    }
    std::string text_;
};

/// Headers as the bytes of one column, and back. Each string follows its length in decimal and a colon.
[[nodiscard]] std::string packed(const records::headers& with);
[[nodiscard]] records::headers unpacked(std::string_view bytes);

/// The maximum number of bytes in the records of one statement. A message to the server has at most 1 GiB,
/// and contains two characters for each byte. The server ends the connection after a longer message.
inline constexpr std::size_t most_bytes = 500'000'000;

/// Adds records to the table in the transaction of the connection, in their order. Returns their ids, in the
/// same order. Each record has its own queue. Throws error, also if the records have more bytes than `most`.
[[nodiscard]] std::vector<std::int64_t> insert_records(PGconn* on, const std::string& schema,
                                                       const std::vector<records::outgoing>& records,
                                                       std::size_t most = most_bytes);

} // namespace ekiden::inline EKIDEN_ABI::postgres::detail

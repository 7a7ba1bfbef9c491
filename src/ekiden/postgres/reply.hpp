/// The result of a function that handles a record of PostgreSQL.
///
/// Part: postgres. Used by: programs.
#pragma once

#include <ekiden/records/request.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct pg_conn; // PGconn of libpq

namespace ekiden::inline EKIDEN_ABI::postgres {

/// Collects the records that a function sends, and gives access to the transaction of the record. The changes
/// that the function makes on this connection, the records that it sends, and the end of its record are one
/// transaction.
///
/// One thread at a time may use a reply. The function must not end the transaction. Change settings of the
/// session only with `set local`, because the connection also serves other records.
class reply : public records::reply {
public:
    /// For the worker.
    explicit reply(pg_conn* connection) noexcept : connection_(connection) {}

    /// Returns the connection, which is inside the transaction of the record.
    [[nodiscard]] pg_conn* connection() const noexcept { return connection_; }

    using row = std::vector<std::optional<std::string>>; ///< The values of a row as text. NULL is empty.
    /// Executes a statement in the transaction. The parameters $1, $2, ... are texts. They must not contain
    /// NUL characters. Returns the rows. Throws error.
    std::vector<row> execute(const char* sql, const std::vector<std::optional<std::string>>& parameters = {});

private:
    pg_conn* connection_;
};

} // namespace ekiden::inline EKIDEN_ABI::postgres

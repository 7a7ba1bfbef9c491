/// How a program reaches the tables of a queue in PostgreSQL, and the exception of this part.
///
/// Part: postgres. Used by: programs, poster, worker.
#pragma once

#include <ekiden/sys/config.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::postgres {

/// The server and the tables. Posters and workers of the same schema share their queues.
struct settings {
    /// The connection string of libpq, for example "host=/run/postgresql dbname=bank". Must not be empty. An
    /// attempt to connect takes at most 5 s, unless the string sets `connect_timeout`.
    std::string connection;
    /// The schema with the tables. 1 to 40 lower-case letters, digits and `_`, not beginning with a digit.
    std::string schema = "ekiden";
};

/// An error that PostgreSQL or libpq has reported.
class error : public std::runtime_error {
public:
    error(const std::string& what, std::string sqlstate)
        : std::runtime_error(what), sqlstate_(std::move(sqlstate)) {}
    /// Returns the five characters of the SQLSTATE. The result is empty if the connection is lost.
    [[nodiscard]] const std::string& sqlstate() const noexcept { return sqlstate_; }
    /// Returns whether the same transaction can succeed later: after a lost connection, a deadlock, or a lack
    /// of resources of the server.
    [[nodiscard]] bool is_transient() const noexcept;

private:
    std::string sqlstate_;
};

/// Creates the schema and the tables if they do not exist. Posters and workers call this function, so
/// programs need it only before the first post() inside a transaction of their own. Several processes may
/// call it at once.
///
/// Throws std::invalid_argument if a setting is not allowed. Throws error if the server cannot be reached, or
/// if the tables belong to a newer version of ekiden.
void create_tables(const settings& where);

} // namespace ekiden::inline EKIDEN_ABI::postgres

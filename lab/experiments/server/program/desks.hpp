/// Alternatives to lanes, on Asio's thread pool.
#pragma once

#include <ordered_server/desk.hpp>

#include <memory>

namespace lab::server {

/// A strand for each key.
[[nodiscard]] std::unique_ptr<ordered::desk>
make_strand_desk(const ekiden::any_executor& unused, const ordered::options& chosen, ordered::way_back& back);

/// A strand for each connection, which keeps the order of its requests. Each request locks the one mutex of
/// all keys.
[[nodiscard]] std::unique_ptr<ordered::desk>
make_mutex_desk(const ekiden::any_executor& unused, const ordered::options& chosen, ordered::way_back& back);

} // namespace lab::server

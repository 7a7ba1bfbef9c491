// Executors of Asio without Boost as ours.
#include <ekiden/adapter/asio/standalone.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/io_context.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>

namespace net = asio;

#include "../from_asio_cases.hpp"

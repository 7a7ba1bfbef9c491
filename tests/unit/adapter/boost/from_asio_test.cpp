// Executors of Boost.Asio as ours.
#include <ekiden/adapter/asio/boost.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

namespace net = boost::asio;

#include "../from_asio_cases.hpp"

// Our executors in Boost.Asio.
#include <ekiden/adapter/asio/boost.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/defer.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>

#ifdef BOOST_ASIO_HAS_CO_AWAIT
#define EKIDEN_ASIO_COROUTINES
#endif

namespace net = boost::asio;
static auto adapted(const auto& e) { return ekiden::boost_asio_executor(e); }

#include "../to_asio_cases.hpp"

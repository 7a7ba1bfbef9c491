// Our coroutines and Boost.Asio.
#include <ekiden/adapter/asio/boost.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#if BOOST_ASIO_VERSION >= 101900
#include <boost/asio/associated_cancellation_slot.hpp>
#define EKIDEN_ASIO_CANCELS
#endif

namespace net = boost::asio;
static auto adapted(const auto& e) { return ekiden::boost_asio_executor(e); }

#include "../await_cases.hpp"

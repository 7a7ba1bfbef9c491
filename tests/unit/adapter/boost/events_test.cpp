// A loop's own thread waits for Boost.Asio.
#include <ekiden/adapter/asio/boost.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#ifdef EKIDEN_BOOST_ASIO_HAS_EVENTS
#define EKIDEN_LOOP_HAS_EVENTS
#endif

namespace net = boost::asio;
static auto adapted(const auto& e) { return ekiden::boost_asio_executor(e); }

#include "../events_cases.hpp"

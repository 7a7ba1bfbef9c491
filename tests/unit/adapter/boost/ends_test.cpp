// The end of contexts, with Boost.Asio.
#include <ekiden/adapter/asio/boost.hpp>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace net = boost::asio;
static auto adapted(const auto& e) { return ekiden::boost_asio_executor(e); }

#include "../ends_cases.hpp"

#ifdef EKIDEN_BOOST_ASIO_HAS_INLINE_EXCEPTIONS
TEST_CASE("Asio is told that the exceptions of functions do not come out of execute()") {
    ekiden::loop_context loop;
    CHECK(net::query(adapted(loop.get_executor()), net::execution::inline_exception_handling)
          == net::execution::inline_exception_handling.capture);
}
#endif

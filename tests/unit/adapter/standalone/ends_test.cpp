// The end of contexts, with Asio without Boost.
#include <ekiden/adapter/asio/standalone.hpp>

#include <asio/basic_stream_socket.hpp>
#include <asio/basic_waitable_timer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>

namespace net = asio;
static auto adapted(const auto& e) { return ekiden::asio_executor(e); }

#include "../ends_cases.hpp"

#ifdef EKIDEN_ASIO_HAS_INLINE_EXCEPTIONS
TEST_CASE("Asio is told that the exceptions of functions do not come out of execute()") {
    ekiden::loop_context loop;
    CHECK(net::query(adapted(loop.get_executor()), net::execution::inline_exception_handling)
          == net::execution::inline_exception_handling.capture);
}
#endif

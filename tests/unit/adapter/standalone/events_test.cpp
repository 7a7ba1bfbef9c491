// A loop's own thread waits for Asio without Boost.
#include <ekiden/adapter/asio/standalone.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/basic_waitable_timer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>

#ifdef EKIDEN_ASIO_HAS_EVENTS
#define EKIDEN_LOOP_HAS_EVENTS
#endif

namespace net = asio;
static auto adapted(const auto& e) { return ekiden::asio_executor(e); }

#include "../events_cases.hpp"

// Our executors in Asio without Boost.
#include <ekiden/adapter/asio/standalone.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/basic_waitable_timer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/defer.hpp>
#include <asio/detached.hpp>
#include <asio/dispatch.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/read.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#include <asio/write.hpp>

#ifdef ASIO_HAS_CO_AWAIT
#define EKIDEN_ASIO_COROUTINES
#endif

namespace net = asio;
static auto adapted(const auto& e) { return ekiden::asio_executor(e); }

#include "../to_asio_cases.hpp"

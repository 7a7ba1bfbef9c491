// Our coroutines and Asio without Boost.
#include <ekiden/adapter/asio/standalone.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/associated_executor.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/read.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>

#if ASIO_VERSION >= 101900
#include <asio/associated_cancellation_slot.hpp>
#define EKIDEN_ASIO_CANCELS
#endif

namespace net = asio;
static auto adapted(const auto& e) { return ekiden::asio_executor(e); }

#include "../await_cases.hpp"

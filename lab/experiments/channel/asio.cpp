#include <lab/experiments/channel/channel.hpp>
#include <lab/harness/together.hpp>
#include <lab/peers/asio.hpp>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/experimental/channel.hpp>
#include <asio/experimental/concurrent_channel.hpp>
#include <asio/use_awaitable.hpp>

namespace lab::channel {
namespace {

using executor = ::asio::io_context::executor_type;
template <class T>
using awaitable = ::asio::awaitable<T, executor>;
constexpr ::asio::use_awaitable_t<executor> awaited;

using signature = void(std::error_code, std::uint64_t);
using locked_channel = ::asio::experimental::concurrent_channel<executor, signature>;
using unlocked_channel = ::asio::experimental::channel<executor, signature>;

template <class Channel>
awaitable<void> produce(Channel& to, source items) {
    while (items.more()) co_await to.async_send(std::error_code(), items.next(), awaited);
}

template <class Channel>
awaitable<void> consume(Channel& from, sink& items) {
    while (items.more()) {
        const std::uint64_t item = co_await from.async_receive(awaited);
        items.take(item);
    }
}

template <class Channel>
class channel_of_asio {
public:
    static constexpr peers::row row =
        std::is_same_v<Channel, locked_channel>
            ? peers::row{peers::asio::row.name, peers::asio::row.title, peers::asio::row.order, false}
            : peers::row{"asio-unlocked", "Asio, no locks", peers::asio::row.order + 1, false};

    explicit channel_of_asio(const setting& s) : setting_(s), context_(static_cast<int>(s.threads)) {}

    usage pass(cell& c, std::vector<sink>& sinks) {
        Channel between(context_, setting_.capacity);
        for (sink& one : sinks) ::asio::co_spawn(context_, consume(between, one), ::asio::detached);
        for (unsigned p = 0; p < setting_.producers; ++p)
            ::asio::co_spawn(context_, produce(between, source(setting_, p)), ::asio::detached);
        const usage used = together(c, setting_.threads, [this](unsigned) { context_.run(); });
        context_.restart();
        return used;
    }

private:
    setting setting_;
    ::asio::io_context context_;
};

const bool added = peers::add_row<channel_of_asio<locked_channel>>(
    "channel", &run<channel_of_asio<locked_channel>>, "experimental::concurrent_channel, awaitables");
const bool added_unlocked = peers::add_row<channel_of_asio<unlocked_channel>>(
    "channel", &run<channel_of_asio<unlocked_channel>>,
    "experimental::channel, awaitables: for one thread only");

} // namespace
} // namespace lab::channel

#include <lab/experiments/channel/threads.hpp>
#include <lab/peers/row.hpp>

#include <ekiden/async/async_buffer.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/bounded_buffer.hpp>
#include <ekiden/sync/channel.hpp>

#include <future>
#include <optional>
#include <stdexcept>

namespace lab::channel {
namespace {

using lock_free = ekiden::channel<std::uint64_t>;
using buffer = ekiden::bounded_buffer<std::uint64_t>;
static_assert(unbounded == lock_free::unbounded);

template <class Channel>
ekiden::coroutine<> produce(Channel& to, source items) {
    while (items.more()) {
        const ekiden::queue_status r = co_await ekiden::async_push(to, items.next());
        if (r != ekiden::queue_status::done) throw std::logic_error("a push was refused");
    }
}

template <class Channel>
ekiden::coroutine<> consume(Channel& from, sink& items) {
    while (items.more()) {
        const auto item = co_await ekiden::async_pop(from);
        items.take(item.value());
    }
}

using completions = std::vector<ekiden::future<void>>;

template <class Executor, class Channel>
void start_consumers(const Executor& where, Channel& from, std::vector<sink>& sinks, completions& ends) {
    for (sink& one : sinks) ends.push_back(ekiden::co_spawn(where, consume(from, one), ekiden::use_future));
}

template <class Executor, class Channel>
void start_producers(const Executor& where, Channel& to, const setting& s, completions& ends) {
    for (unsigned p = 0; p < s.producers; ++p)
        ends.push_back(ekiden::co_spawn(where, produce(to, source(s, p)), ekiden::use_future));
}

template <class Channel>
auto pushing(Channel& to) {
    return [&to](std::uint64_t item) {
        if (to.push(std::move(item)) != ekiden::queue_status::done)
            throw std::logic_error("a push was refused");
    };
}

// In the variants with threads, these rows have no pool.
template <class Channel>
class on_pool {
public:
    static constexpr peers::row row = std::is_same_v<Channel, lock_free>
                                          ? peers::row{"ekiden", "ekiden", 0, false}
                                          : peers::row{"ekiden-buffer", "ekiden, bounded_buffer", 1, false};

    explicit on_pool(const setting& s) : setting_(s) {
        if (!s.in_threads) pool_.emplace(ekiden::thread_pool_options{.threads = s.threads});
    }

    usage pass(cell& c, std::vector<sink>& sinks) {
        Channel between(setting_.capacity);
        if (!pool_)
            return pass_in_threads(
                c, setting_, sinks, [&] { return pushing(between); },
                [&] { return [&] { return between.pop().value(); }; });
        completions ends;
        return c.measure([&] {
            start_consumers(pool_->get_executor(), between, sinks, ends);
            start_producers(pool_->get_executor(), between, setting_, ends);
            for (auto& end : ends) end.get();
        });
    }

private:
    setting setting_;
    std::optional<ekiden::thread_pool> pool_;
};

class on_context {
public:
    static constexpr peers::row row{"ekiden-context", "ekiden, loop_context", 2, false};

    explicit on_context(const setting& s) : setting_(s), context_(static_cast<int>(s.threads)) {}

    usage pass(cell& c, std::vector<sink>& sinks) {
        lock_free between(setting_.capacity);
        completions ends;
        start_consumers(context_.get_executor(), between, sinks, ends);
        start_producers(context_.get_executor(), between, setting_, ends);
        const usage used = together(c, setting_.threads, [this](unsigned) { context_.run(); });
        context_.restart();
        for (auto& end : ends) end.get();
        return used;
    }

private:
    setting setting_;
    ekiden::loop_context context_;
};

class mixed {
public:
    static constexpr peers::row row{"ekiden-mixed", "ekiden, threads to coroutines", 3, false};

    explicit mixed(const setting& s) : setting_(s), pool_({.threads = s.threads}) {}

    usage pass(cell& c, std::vector<sink>& sinks) {
        lock_free between(setting_.capacity);
        completions ends;
        start_consumers(pool_.get_executor(), between, sinks, ends);
        return together(
            c, setting_.producers,
            [&](unsigned me) {
                auto push = pushing(between);
                for (source items(setting_, me); items.more();) push(items.next());
            },
            [&] {
                for (auto& end : ends) end.get();
            });
    }

private:
    setting setting_;
    ekiden::thread_pool pool_;
};

const bool added =
    peers::add_row<on_pool<lock_free>>("channel", &run<on_pool<lock_free>>, "channel, on its pool");
const bool added_buffer =
    peers::add_row<on_pool<buffer>>("channel", &run<on_pool<buffer>>, "bounded_buffer, on its pool");
const bool added_context =
    peers::add_row<on_context>("channel", &run<on_context>, "channel, as on Asio's io_context");
const bool added_mixed = peers::add_row<mixed>("channel", &run<mixed>, "channel, threads to coroutines");

} // namespace
} // namespace lab::channel

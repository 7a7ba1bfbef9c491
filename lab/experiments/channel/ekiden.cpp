#include <lab/experiments/channel/channel.hpp>
#include <lab/harness/together.hpp>
#include <lab/peers/row.hpp>

#include <ekiden/async/async_buffer.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/bounded_buffer.hpp>

#include <future>
#include <optional>
#include <stdexcept>

namespace lab::channel {
namespace {

using buffer = ekiden::bounded_buffer<std::uint64_t>;

ekiden::coroutine<> produce(buffer& to, source items) {
    while (items.more()) {
        const ekiden::queue_status r = co_await ekiden::async_push(to, items.next());
        if (r != ekiden::queue_status::done) throw std::logic_error("a push was refused");
    }
}

ekiden::coroutine<> consume(buffer& from, sink& items) {
    while (items.more()) {
        const std::optional<std::uint64_t> item = co_await ekiden::async_pop(from);
        items.take(item.value());
    }
}

// Starts all coroutines on `where`. Returns the futures of their completion.
template <class Executor>
void start_consumers(const Executor& where, buffer& from, std::vector<sink>& sinks,
                     std::vector<ekiden::future<void>>& ends) {
    for (sink& one : sinks) ends.push_back(ekiden::co_spawn(where, consume(from, one), ekiden::use_future));
}

template <class Executor>
void start_producers(const Executor& where, buffer& to, const setting& s,
                     std::vector<ekiden::future<void>>& ends) {
    for (unsigned p = 0; p < producers; ++p)
        ends.push_back(ekiden::co_spawn(where, produce(to, source(s, p)), ekiden::use_future));
}

class on_pool {
public:
    static constexpr peers::row row{"ekiden", "ekiden", 0};

    explicit on_pool(const setting& s) : setting_(s), pool_({.threads = s.threads}) {}

    usage pass(cell& c, std::vector<sink>& sinks) {
        buffer between(capacity);
        std::vector<ekiden::future<void>> ends;
        return c.measure([&] {
            start_consumers(pool_.get_executor(), between, sinks, ends);
            start_producers(pool_.get_executor(), between, setting_, ends);
            for (auto& end : ends) end.get();
        });
    }

private:
    setting setting_;
    ekiden::thread_pool pool_;
};

class on_context {
public:
    static constexpr peers::row row{"ekiden-context", "ekiden, loop_context", 1};

    explicit on_context(const setting& s) : setting_(s), context_(static_cast<int>(s.threads)) {}

    usage pass(cell& c, std::vector<sink>& sinks) {
        buffer between(capacity);
        std::vector<ekiden::future<void>> ends;
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

void produce_in_thread(buffer& to, source items) {
    while (items.more()) (void)to.push(items.next());
}

class threads {
public:
    static constexpr peers::row row{"ekiden-threads", "ekiden, threads", 2, false};

    explicit threads(const setting& s) : setting_(s) {}

    usage pass(cell& c, std::vector<sink>& sinks) {
        buffer between(capacity);
        return together(c, producers + setting_.consumers, [&](unsigned me) {
            if (me < producers) return produce_in_thread(between, source(setting_, me));
            sink& mine = sinks[me - producers];
            while (mine.more()) mine.take(*between.pop());
        });
    }

private:
    setting setting_;
};

class mixed {
public:
    static constexpr peers::row row{"ekiden-mixed", "ekiden, mixed", 3, false};

    explicit mixed(const setting& s) : setting_(s), pool_({.threads = s.threads}) {}

    usage pass(cell& c, std::vector<sink>& sinks) {
        buffer between(capacity);
        std::vector<ekiden::future<void>> ends;
        start_consumers(pool_.get_executor(), between, sinks, ends);
        return together(
            c, producers, [&](unsigned me) { produce_in_thread(between, source(setting_, me)); },
            [&] {
                for (auto& end : ends) end.get();
            });
    }

private:
    setting setting_;
    ekiden::thread_pool pool_;
};

const bool added = peers::add_row<on_pool>("channel", &run<on_pool>, "bounded_buffer, on its pool");
const bool added_context =
    peers::add_row<on_context>("channel", &run<on_context>, "bounded_buffer, as on Asio's io_context");
const bool added_threads =
    peers::add_row<threads>("channel", &run<threads>, "bounded_buffer without coroutines");
const bool added_mixed =
    peers::add_row<mixed>("channel", &run<mixed>, "bounded_buffer, threads to coroutines");

} // namespace
} // namespace lab::channel

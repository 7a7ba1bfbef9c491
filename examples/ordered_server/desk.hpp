/// Where requests are run: those of one key one at a time and in their order, different keys in parallel.
#pragma once

#include <ordered_server/request.hpp>

#include <ekiden/execution/lanes.hpp>
#include <ekiden/observe/prometheus.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <asio/io_context.hpp>
#include <atomic>
#include <functional>

namespace ordered {

/// The way of requests back to the network's thread: a list that any thread pushes onto. The thread that
/// finds it empty wakes the network's, so that many replies cost one wake-up.
class way_back {
public:
    using receiver = std::function<void(request*)>;

    /// `arrive` is called on the network's thread with those that have come, linked, in their order.
    way_back(asio::io_context& network, receiver arrive) : network_(network), arrive_(std::move(arrive)) {}
    void push(request& done);

private:
    void drain();

    asio::io_context& network_;
    receiver arrive_;
    std::atomic<request*> newest_{nullptr};
};

/// The lab compares others with lane_desk: lab/experiments/server.
class desk {
public:
    explicit desk(way_back& back) : back_(back) {}
    virtual ~desk() = default;
    desk(const desk&) = delete;
    desk& operator=(const desk&) = delete;

    /// Takes a request, runs it behind those of its key that came before, and hands it back. False: its key
    /// has no room now. The network's thread calls it.
    virtual bool take(request& r) = 0;
    /// Returns when no thread is inside of a request.
    virtual void join() = 0;
    virtual void add_to(ekiden::prometheus_page& /*page*/) const {}

    /// From now on requests come back without having been run. Any thread.
    void give_up() noexcept { has_given_up_.store(true, std::memory_order_relaxed); }

protected:
    void run(request& r) {
        if (!has_given_up_.load(std::memory_order_relaxed)) r.run();
        back_.push(r);
    }

private:
    way_back& back_;
    std::atomic<bool> has_given_up_{false};
};

/// A lane for each key on a pool.
class lane_desk final : public desk {
public:
    lane_desk(ekiden::thread_pool& pool, const options& chosen, way_back& back);

    bool take(request& r) override;
    void join() override;
    void add_to(ekiden::prometheus_page& page) const override;

private:
    ekiden::thread_pool& pool_;
    ekiden::request_log* const log_;
    ekiden::lanes<account*, ekiden::thread_pool::executor_type> lanes_;
};

/// How a server gets its desk.
using desk_maker = std::function<std::unique_ptr<desk>(ekiden::thread_pool&, const options&, way_back&)>;
[[nodiscard]] std::unique_ptr<desk> make_lane_desk(ekiden::thread_pool& pool, const options& chosen,
                                                   way_back& back);

} // namespace ordered

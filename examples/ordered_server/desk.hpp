/// Where requests are run: those of one key one at a time and in their order, different keys in parallel.
#pragma once

#include <ordered_server/request.hpp>

#include <ekiden/execution/any_executor.hpp>
#include <ekiden/observe/prometheus.hpp>

#include <atomic>
#include <functional>

namespace ordered {

/// The way of requests back to the network: a list that any thread pushes onto. The thread that finds it
/// empty wakes the network, so that many replies cost one wake-up.
class way_back {
public:
    using receiver = std::function<void(request*)>;

    /// `arrive` is called on the network with those that have come, linked, in their order.
    way_back(const ekiden::any_executor& network, receiver arrive)
        : network_(network), arrive_(std::move(arrive)) {}
    void push(request& done);

private:
    void drain();

    const ekiden::any_executor network_;
    receiver arrive_;
    std::atomic<request*> newest_{nullptr};
};

/// The lab compares others with that of lanes: lab/experiments/server.
class desk {
public:
    explicit desk(way_back& back) : back_(back) {}
    virtual ~desk() = default;
    desk(const desk&) = delete;
    desk& operator=(const desk&) = delete;

    /// Takes a request, runs it behind those of its key that came before, and hands it back. False: its key
    /// has no room now. Called on the network.
    virtual bool take(request& r) = 0;
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

/// How a server gets its desk.
using desk_maker =
    std::function<std::unique_ptr<desk>(const ekiden::any_executor& workers, const options&, way_back&)>;
/// A lane for each key, on the workers' executor.
[[nodiscard]] std::unique_ptr<desk> make_lane_desk(const ekiden::any_executor& workers, const options& chosen,
                                                   way_back& back);

} // namespace ordered

#include <ekiden/kafka.hpp>
#include <ekiden/pool.hpp>
#include <lab/experiments/kafka/kafka.hpp>
#include <lab/harness/registry.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace lab::kafka {
namespace {

class ekiden_worker {
public:
    static constexpr bool ordered = true;
    ekiden_worker(const std::string& brokers, const std::string& topic, const std::string& group,
                  const setting& s, std::function<void(std::string_view, std::string_view)> f)
        : pool_(s.work.count() > 0 ? in_flight : 2),
          worker_({.brokers = brokers}, pool_.get_executor(), options_of(topic, group),
                  [f = std::move(f)](const ekiden::kafka::request& r, ekiden::kafka::reply&) {
                      f(r.key, r.value);
                  }),
          thread_([this](const std::stop_token& stop) { worker_.run(stop); }) {}

private:
    static ekiden::kafka::worker_options options_of(const std::string& topic, const std::string& group) {
        ekiden::kafka::worker_options chosen;
        chosen.group = group;
        chosen.topic = topic;
        chosen.name = group;
        chosen.mode = ekiden::kafka::delivery::at_least_once;
        return chosen;
    }

    ekiden::thread_pool pool_;
    ekiden::kafka::worker<ekiden::thread_pool::executor_type> worker_;
    std::jthread thread_;
};

const bool added = add(implementation{.experiment = "kafka",
                                      .name = "ekiden",
                                      .title = "ekiden",
                                      .note = "at least once, the order of keys",
                                      .run = &run<ekiden_worker>,
                                      .pinnable = false,
                                      .order = 0});

} // namespace
} // namespace lab::kafka

#include <ekiden/adapter/std_execution/scheduler.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <lab/experiments/senders/senders.hpp>
#include <lab/peers/row.hpp>

namespace lab::senders {
namespace {

class ekiden_scheduler {
public:
    static constexpr peers::row row{"ekiden", "ekiden", 1};

    explicit ekiden_scheduler(const cell& c) : pool_({.threads = c.workers()}) {}
    [[nodiscard]] auto scheduler() { return ekiden::as_scheduler(pool_); }

private:
    ekiden::thread_pool pool_;
};

const bool added = peers::add_row<ekiden_scheduler>("senders", &run<ekiden_scheduler>);

} // namespace
} // namespace lab::senders

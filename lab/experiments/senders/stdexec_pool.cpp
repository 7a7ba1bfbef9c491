#include <lab/experiments/senders/senders.hpp>
#include <lab/peers/row.hpp>

#include <exec/static_thread_pool.hpp>

namespace lab::senders {
namespace {

class stdexec_pool {
public:
    static constexpr peers::row row{"stdexec-pool", "stdexec, static_thread_pool", 20};

    explicit stdexec_pool(const cell& c) : pool_(c.workers()) {}
    [[nodiscard]] auto scheduler() { return pool_.get_scheduler(); }

private:
    exec::static_thread_pool pool_;
};

const bool added = peers::add_row<stdexec_pool>("senders", &run<stdexec_pool>);

} // namespace
} // namespace lab::senders

#include <lab/experiments/replay/models.hpp>
#include <lab/peers/onetbb.hpp>

namespace lab::replay {
namespace {

/// The tasks are enqueued, so the service must tell the pool when the last one has run.
class onetbb_pool : in_pool<peers::onetbb> {
public:
    using in_pool::formed;
    using in_pool::promised;

    onetbb_pool(unsigned workers, std::size_t keys, service& s) : in_pool(workers, keys, s), service_(s) {}
    ~onetbb_pool() {
        while (service_.served() < posted_) std::this_thread::yield();
    }

    void post(std::size_t index) {
        in_pool::post(index);
        ++posted_;
    }

private:
    service& service_;
    std::size_t posted_ = 0;
};

const bool added = add_model<onetbb_pool>("onetbb-pool", "oneTBB, pool", 30);

} // namespace
} // namespace lab::replay

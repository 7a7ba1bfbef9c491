#include <lab/experiments/several-keys/several_keys.hpp>
#include <lab/peers/ekiden_executors.hpp>

#include <ekiden/lanes/lanes.hpp>
#include <ekiden/pool/thread_pool.hpp>

namespace lab::several_keys {
namespace {

class own_lanes {
public:
    static constexpr peers::row row = peers::ekiden_executors::row;
    static constexpr bool keeps_order = true;

    own_lanes(unsigned workers, std::size_t) : pool_({.threads = workers}), lanes_(pool_.get_executor()) {}

    template <class Body>
    void enter(Body body) {
        (void)pool_.post([&] { body(); });
        pool_.wait_idle();
    }
    template <class F>
    void one(std::uint32_t key, F f) {
        (void)lanes_.post(key, f);
    }
    template <class F>
    void two(std::uint32_t a, std::uint32_t b, F f) {
        (void)lanes_.post({a, b}, f);
    }
    template <class F>
    void read(std::uint32_t key, F f) {
        (void)lanes_.post(lanes_.keys().read(key), f);
    }

private:
    ::ekiden::thread_pool pool_;
    ::ekiden::lanes<std::uint32_t, ::ekiden::thread_pool::executor_type> lanes_;
};

const bool added = peers::add_row<own_lanes>("several-keys", &run<own_lanes>);

} // namespace
} // namespace lab::several_keys

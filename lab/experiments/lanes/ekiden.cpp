#include <lab/experiments/lanes/lanes.hpp>
#include <lab/experiments/lanes/strand_per_key.hpp>
#include <lab/peers/ekiden_executors.hpp>

#include <ekiden/lanes/lanes.hpp>

namespace lab::lanes {
namespace {

/// ekiden's lanes, as its users use them.
class own_lanes {
public:
    static constexpr peers::row row = peers::ekiden_executors::row;
    static constexpr bool keeps_order = true;

    own_lanes(unsigned workers, std::size_t) : pool_({.threads = workers}), lanes_(pool_.get_executor()) {}

    template <class F>
    void post(std::uint64_t key, F f) {
        (void)lanes_.post(key, std::move(f));
    }

private:
    ::ekiden::thread_pool pool_;
    ::ekiden::lanes<std::uint64_t, ::ekiden::thread_pool::executor_type> lanes_;
};

using strands = strand_per_key<peers::ekiden_executors>;

const bool added = peers::add_row<own_lanes>("lanes", &run<own_lanes>);

const bool added_strands = add(implementation{.experiment = "lanes",
                                              .name = "ekiden-strands",
                                              .title = "ekiden strands",
                                              .note = "a strand per key",
                                              .run = &run<strands>,
                                              .order = 2});

} // namespace
} // namespace lab::lanes

#include <lab/experiments/lanes/lanes.hpp>
#include <lab/experiments/lanes/strand_per_key.hpp>
#include <lab/peers/ekiden_executors.hpp>

#include <ekiden/lanes/lanes.hpp>

#include <cstdint>
#include <utility>
#include <vector>

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

/// The same lanes, with a handle for each key.
class own_handles {
public:
    static constexpr bool keeps_order = true;

    own_handles(unsigned workers, std::size_t keys)
        : pool_({.threads = workers}), lanes_(pool_.get_executor()) {
        handles_.reserve(keys);
        for (std::uint64_t key = 0; key != keys; ++key) handles_.push_back(lanes_.lane(key));
    }

    template <class F>
    void post(std::uint64_t key, F f) {
        (void)lanes_.post(handles_[key], std::move(f));
    }

private:
    using lanes_type = ::ekiden::lanes<std::uint64_t, ::ekiden::thread_pool::executor_type>;

    ::ekiden::thread_pool pool_;
    lanes_type lanes_;
    std::vector<lanes_type::lane_type> handles_;
};

using strands = strand_per_key<peers::ekiden_executors>;

const bool added = peers::add_row<own_lanes>("lanes", &run<own_lanes>);

const bool added_handles = add(implementation{.experiment = "lanes",
                                              .name = "ekiden-handles",
                                              .title = "ekiden, by handle",
                                              .note = "a handle of a lane per key",
                                              .run = &run<own_handles>,
                                              .order = 1,
                                              .manner = "handles"});

const bool added_strands = add(implementation{.experiment = "lanes",
                                              .name = "ekiden-strands",
                                              .title = "ekiden strands",
                                              .note = "a strand per key",
                                              .run = &run<strands>,
                                              .order = 2,
                                              .manner = "handles"});

} // namespace
} // namespace lab::lanes

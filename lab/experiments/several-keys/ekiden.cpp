#include <lab/experiments/several-keys/several_keys.hpp>
#include <lab/peers/ekiden_executors.hpp>

#include <ekiden/lanes/lanes.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <cstdint>
#include <vector>

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

/// The same lanes, with a handle for each key.
class own_handles {
public:
    static constexpr bool keeps_order = true;

    own_handles(unsigned workers, std::size_t keys)
        : pool_({.threads = workers}), lanes_(pool_.get_executor()) {
        for (std::uint32_t key = 0; key != keys; ++key) handles_.push_back(lanes_.lane(key));
    }

    template <class Body>
    void enter(Body body) {
        (void)pool_.post([&] { body(); });
        pool_.wait_idle();
    }
    template <class F>
    void one(std::uint32_t key, F f) {
        (void)lanes_.post(handles_[key], f);
    }
    template <class F>
    void two(std::uint32_t a, std::uint32_t b, F f) {
        (void)lanes_.post({handles_[a], handles_[b]}, f);
    }
    template <class F>
    void read(std::uint32_t key, F f) {
        (void)lanes_.post(lanes_.keys().read(handles_[key]), f);
    }

private:
    using lanes_type = ::ekiden::lanes<std::uint32_t, ::ekiden::thread_pool::executor_type>;

    ::ekiden::thread_pool pool_;
    lanes_type lanes_;
    std::vector<lanes_type::lane_type> handles_;
};

const bool added = peers::add_row<own_lanes>("several-keys", &run<own_lanes>);

const bool added_handles = add(implementation{.experiment = "several-keys",
                                              .name = "ekiden-handles",
                                              .title = "ekiden, by handle",
                                              .note = "a handle of a lane per key",
                                              .run = &run<own_handles>,
                                              .order = 1});

} // namespace
} // namespace lab::several_keys

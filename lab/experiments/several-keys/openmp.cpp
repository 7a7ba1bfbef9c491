#include <lab/experiments/several-keys/several_keys.hpp>
#include <lab/peers/openmp.hpp>

namespace lab::several_keys {
namespace {

/// Tasks with dependences on the accounts. A member of the team posts them.
class depend {
public:
    static constexpr peers::row row = peers::openmp::row;
    static constexpr bool keeps_order = true;

    depend(unsigned workers, std::size_t keys) : accounts_(keys), team_(workers) {}

    template <class Body>
    void enter(Body body) {
        team_.enter(body);
    }
    template <class F>
    void one(std::uint32_t key, F f) {
        [[maybe_unused]] char* const account = &accounts_[key];
#pragma omp task firstprivate(f) depend(inout : account[0])
        f();
    }
    template <class F>
    void two(std::uint32_t a, std::uint32_t b, F f) {
        [[maybe_unused]] char* const first = &accounts_[a];
        [[maybe_unused]] char* const second = &accounts_[b];
#pragma omp task firstprivate(f) depend(inout : first[0], second[0])
        f();
    }
    template <class F>
    void read(std::uint32_t key, F f) {
        [[maybe_unused]] char* const account = &accounts_[key];
#pragma omp task firstprivate(f) depend(in : account[0])
        f();
    }

private:
    std::vector<char> accounts_;
    peers::openmp team_;
};

const bool added = peers::add_openmp<depend>("several-keys", &run<depend>, "tasks with depend");

} // namespace
} // namespace lab::several_keys

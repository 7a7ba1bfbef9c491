#include <lab/experiments/bursts/bursts.hpp>
#include <lab/peers/row.hpp>

#include <cstddef>

namespace lab::bursts {
namespace {

class alone {
public:
    static constexpr peers::row row{"serial", "one thread", 90};

    explicit alone(unsigned) {}

    template <class Block>
    void burst(std::size_t blocks, const Block& block) {
        for (std::size_t i = 0; i != blocks; ++i) block(i);
    }
};

const bool added = peers::add_row<alone>("bursts", &run<alone>, "all blocks, nothing given away", false);

} // namespace
} // namespace lab::bursts

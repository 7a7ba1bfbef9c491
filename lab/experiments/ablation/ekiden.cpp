#include <lab/experiments/ablation/ablation.hpp>
#include <lab/peers/ekiden.hpp>

namespace lab::ablation {
namespace {

/// Every task with a future that nobody keeps, as the source's benchmark has it.
class ekiden_submit : public peers::ekiden {
public:
    using peers::ekiden::ekiden;

    template <class F>
    void post(F f) {
        submit_and_drop(std::move(f));
    }
};

const bool added = peers::add_row<peers::ekiden>("ablation", &run<peers::ekiden>, "post: no future");
const bool added_submit = add(implementation{.experiment = "ablation",
                                             .name = "ekiden-submit",
                                             .title = "ekiden submit",
                                             .note = "a future per task",
                                             .run = &run<ekiden_submit>,
                                             .order = 2});

} // namespace
} // namespace lab::ablation

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

const bool added = add(implementation{.experiment = "ablation",
                                      .name = "ekiden",
                                      .title = "ekiden post",
                                      .note = "no future",
                                      .run = &run<peers::ekiden>,
                                      .order = 91});
const bool added_submit = add(implementation{.experiment = "ablation",
                                             .name = "ekiden-submit",
                                             .title = "ekiden submit",
                                             .note = "a future per task",
                                             .run = &run<ekiden_submit>,
                                             .order = 90});

} // namespace
} // namespace lab::ablation

#include <lab/experiments/ablation/ablation.hpp>
#include <lab/peers/ekiden.hpp>

namespace lab::ablation {
namespace {

/// Each task has a future that is dropped, as in the source's benchmark.
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

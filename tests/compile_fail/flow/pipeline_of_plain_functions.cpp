// expect: ekiden: pipeline: pass each callable through in_order_stage
#include <ekiden/flow/pipeline.hpp>

#include <optional>

void wrong() {
    ekiden::pipeline lines([]() -> std::optional<int> { return {}; }, [](int) {});
}

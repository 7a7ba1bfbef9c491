// expect: ekiden: pipeline: the first stage makes the items one at a time
#include <ekiden/flow/pipeline.hpp>

#include <optional>

void wrong() {
    ekiden::pipeline lines(ekiden::parallel_stage([]() -> std::optional<int> { return {}; }));
}

#include <check/engine/explorer.hpp>
#include <cstdio>
#include <cstdlib>
using namespace ekiden::check;
int main(int c, char** v) {
    for (auto& m : models()) {
        if (c > 1 && std::string_view(v[1]) != m.name) continue;
        search h; h.bound = m.how.preemptions;
        auto r = explore(m, h);
        std::printf("%s/%s execs %lu redundant %lu bound %u unb %d complete %d steps/exec %.0f %.0fk/s %s\n", m.folder.data(), std::string(m.name).c_str(), r.executions, r.redundant, r.bound, r.unbounded, r.complete, double(r.steps)/r.executions, r.executions/r.seconds/1e3, r.failed?r.failure.c_str():"");
        std::set<std::string> want(m.how.outcomes.begin(), m.how.outcomes.end());
        if (!want.empty() && want != r.found.outcomes) { std::printf("   WRONG outcomes:"); for (auto& o : r.found.outcomes) std::printf(" [%s]", o.c_str()); std::puts(""); }
        if (r.failed) std::printf("%s\nreplay %s\n", r.table.c_str(), r.replay.c_str());
    }
    std::fflush(stdout); std::_Exit(0);
}

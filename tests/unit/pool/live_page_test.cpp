// The live page: it needs nothing but the metrics, and a pool writes each metric of a pool that the page
// names. tests/live_page shows the page in a browser.
#include <ekiden/observe/live_page.hpp>
#include <ekiden/pool/add_metrics.hpp>
#include <ekiden/pool/slow_task.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <cstddef>
#include <doctest/doctest.h>
#include <string>
#include <string_view>

namespace live_pages {
namespace {

/// Calls `f` with each text in quotation marks that begins with `prefix`.
template <class F>
void for_each_name(std::string_view page, std::string_view prefix, F f) {
    const std::string begin = "\"" + std::string(prefix);
    for (std::size_t at = page.find(begin); at != std::string_view::npos; at = page.find(begin, at + 1)) {
        const std::size_t first = at + 1;
        f(page.substr(first, page.find('"', first) - first));
    }
}

} // namespace

TEST_CASE("The live page is one text that reads the metrics beside it, and names no other address") {
    const std::string_view page = ekiden::live_page();
    CHECK(page.starts_with("<!doctype html>"));
    CHECK(page.ends_with("</html>\n"));
    CHECK(page.find("fetch('metrics'") != std::string_view::npos);
    for (const char* other : {"https:", "//cdn", " src=", "@import", "import(", "url("}) {
        CAPTURE(other);
        CHECK(page.find(other) == std::string_view::npos);
    }
}

TEST_CASE("A pool and its history write each metric of pools that the live page names") {
    ekiden::thread_pool pool(1);
    ekiden::slow_task_history slow;
    slow.add({});
    ekiden::prometheus_page metrics;
    add_metrics(metrics, pool.metrics(), "p");
    add_metrics(metrics, slow, "p");
    const std::string text = metrics.text();
    int names = 0;
    for_each_name(ekiden::live_page(), "ekiden_pool_", [&](std::string_view name) {
        ++names;
        CAPTURE(name);
        CHECK(text.find("# TYPE " + std::string(name) + " ") != std::string::npos);
    });
    CHECK(names >= 12);
}

} // namespace live_pages

// The exact text for Prometheus. tests/prometheus reads it with the parser of Prometheus.
#include <ekiden/observe/prometheus.hpp>

#include <tests/unit/failing_allocations.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

using namespace ekiden;

TEST_CASE("a metric has its head once, and its values stand together in the order of their labels") {
    prometheus_page page;
    page.counter("a_total", "How many.", 18'446'744'073'709'551'615U, {{"pool", "x"}});
    page.gauge("b", "Now.", 0.25);
    page.counter("a_total", "How many.", 2, {{"pool", "y"}, {"z", "1"}});
    CHECK(page.text()
          == "# HELP a_total How many.\n# TYPE a_total counter\n"
             "a_total{pool=\"x\"} 18446744073709551615\na_total{pool=\"y\",z=\"1\"} 2\n"
             "# HELP b Now.\n# TYPE b gauge\nb 0.25\n");
}

TEST_CASE("numbers that are none have the names that the format gives them") {
    prometheus_page page;
    page.gauge("g", "h", std::numeric_limits<double>::infinity());
    page.gauge("g", "h", -std::numeric_limits<double>::infinity());
    page.gauge("g", "h", -std::numeric_limits<double>::quiet_NaN());
    page.gauge("g", "h", 1e-9);
    CHECK(page.text() == "# HELP g h\n# TYPE g gauge\ng +Inf\ng -Inf\ng NaN\ng 1e-09\n");
}

TEST_CASE("texts are escaped, and bytes that are no UTF-8 replaced") {
    prometheus_page page;
    page.gauge("g", "one\ntwo \\ \"", 1, {{"k", "a\"b\\c\nd"}});
    CHECK(page.text() == "# HELP g one\\ntwo \\\\ \"\n# TYPE g gauge\ng{k=\"a\\\"b\\\\c\\nd\"} 1\n");

    const auto written = [](std::string_view value) {
        prometheus_page one;
        one.gauge("g", "", 1, {{"k", value}});
        const std::string text = one.text();
        const std::size_t begin = text.find("k=\"") + 3;
        return text.substr(begin, text.rfind("\"}") - begin);
    };
    const std::string replaced = "\xef\xbf\xbd";
    for (const std::string good :
         {"", "\x01\r\x7f", "\u00e4", "\u0800\ud7ff\ue000\uffff", "\U00010000\U0010ffff"})
        CHECK(written(good) == good);
    CHECK(written("\x80") == replaced);
    CHECK(written("a\xc3") == "a" + replaced);                        // incomplete at the end
    CHECK(written("\xc3(") == replaced + "(");                        // not continued
    CHECK(written("\xc0\xaf") == replaced + replaced);                // longer than necessary
    CHECK(written("\xe0\x9f\xbf") == replaced + replaced + replaced); // longer than necessary
    CHECK(written("\xed\xa0\x80") == replaced + replaced + replaced); // half of a surrogate pair
    CHECK(written("\xf0\x8f\xbf\xbf") == replaced + replaced + replaced + replaced);
    // Beyond the last character.
    CHECK(written("\xf4\x90\x80\x80") == replaced + replaced + replaced + replaced);
    CHECK(written("\xff\"") == replaced + "\\\"");
}

TEST_CASE("a histogram counts what is below each bound, in seconds") {
    const auto all = std::make_unique<histogram>();
    for (const std::uint64_t ns : {0U, 1023U, 1024U, 1'000'000'000U}) all->record(ns);
    all->record(std::uint64_t{1} << 36);
    prometheus_page page;
    page.histogram("d_seconds", "h", all->snapshot(), {{"p", "q"}});
    const std::string text = page.text();
    CHECK(text.starts_with("# HELP d_seconds h\n# TYPE d_seconds histogram\n"
                           "d_seconds_bucket{p=\"q\",le=\"1.024e-06\"} 2\n"
                           "d_seconds_bucket{p=\"q\",le=\"2.048e-06\"} 3\n"));
    CHECK(text.find("d_seconds_bucket{p=\"q\",le=\"0.536870912\"} 3\n") != text.npos);
    CHECK(text.ends_with("d_seconds_bucket{p=\"q\",le=\"1.073741824\"} 4\n"
                         "d_seconds_bucket{p=\"q\",le=\"2.147483648\"} 4\n"
                         "d_seconds_bucket{p=\"q\",le=\"4.294967296\"} 4\n"
                         "d_seconds_bucket{p=\"q\",le=\"8.589934592\"} 4\n"
                         "d_seconds_bucket{p=\"q\",le=\"17.179869184\"} 4\n"
                         "d_seconds_bucket{p=\"q\",le=\"+Inf\"} 5\n"
                         "d_seconds_sum{p=\"q\"} 69.719478783\n"
                         "d_seconds_count{p=\"q\"} 5\n"));
}

TEST_CASE("names that the format does not allow are refused, and nothing is added") {
    prometheus_page page;
    page.counter("a_total", "h", 1);
    const std::string before = page.text();
    CHECK_THROWS_WITH_AS(
        page.gauge("", "h", 1),
        "prometheus_page: name is '', allowed is letters, digits, '_' and ':', with no digit in front",
        std::invalid_argument);
    for (const std::string_view bad : {"1a", "a-b", "\u00e4", "a b", "x_total"})
        CHECK_THROWS_AS(page.gauge(bad, "h", 1), std::invalid_argument);
    CHECK_THROWS_AS(page.counter("a", "h", 1), std::invalid_argument);
    CHECK_THROWS_AS(page.histogram("a_total", "h", {}), std::invalid_argument);
    // OpenMetrics uses this name for the counter, too.
    CHECK_THROWS_AS(page.gauge("a", "h", 1), std::invalid_argument);
    for (const std::string_view bad : {"", "1", "a:b", "le", "__name__", "ok"})
        CHECK_THROWS_AS(page.counter("a_total", "h", 1, {{"ok", "1"}, {bad, "1"}}), std::invalid_argument);
    CHECK(page.text() == before);
    page.gauge("a:b", "h", 1);
    CHECK_THROWS_AS(page.histogram("a:b", "h", {}), std::invalid_argument); // the name belongs to a gauge
}

#if !defined(EKIDEN_TSAN)
TEST_CASE("a value for which there is no memory leaves nothing that a value could not follow") {
    const std::string long_text(100, 'x');
    const auto add = [&](prometheus_page& page) {
        page.histogram(long_text, long_text, {}, {{"k", long_text}});
    };
    prometheus_page whole;
    add(whole);
    bool has_failed = true;
    for (long n = 0; has_failed; ++n) {
        prometheus_page page;
        {
            const ekiden_test::failing_allocation failing(n);
            try {
                add(page);
            } catch (const std::bad_alloc&) {
            }
            has_failed = failing.has_failed();
        }
        if (has_failed) add(page);
        CHECK(page.text() == whole.text());
    }
}
#endif

TEST_CASE("a value that is refused for its label leaves nothing of its metric") {
    prometheus_page page;
    CHECK_THROWS_AS(page.gauge("x", "h", 1, {{"le", "1"}}), std::invalid_argument);
    CHECK(page.text().empty());
    page.counter("x_total", "h", 1);
}

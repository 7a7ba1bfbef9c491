#include <lab/replay/request_trace.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <locale>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace lab::replay;

namespace {

request_trace read(const std::string& text, const trace_format& format = {}) {
    std::istringstream in(text);
    return read_trace(in, "t", format);
}

/// What the reader says against `text`; "" if it takes it.
std::string refusal(const std::string& text, const trace_format& format = {}) {
    try {
        static_cast<void>(read(text, format));
    } catch (const trace_error& error) {
        return error.what();
    }
    return "";
}

std::string written(const request_trace& trace) {
    std::ostringstream out;
    write_trace(out, trace);
    return out.str();
}

const std::string head_line = "arrival_us,key,service_us\n";

} // namespace

TEST_CASE("a table of CSV gives arrivals since the first, keys by their coming, and times in nanoseconds") {
    const request_trace t = read("arrival_us,key,service_ns,block_ms\n"
                                 "1000,b,500,0\n"
                                 "1000.25,a,20,1.5\n"
                                 "1001,b,0,0\n");
    REQUIRE(t.requests.size() == 3);
    CHECK(t.keys == 2);
    CHECK(t.remark.empty());
    CHECK(written(t) == "arrival_ns,key,service_ns,block_ns\n0,0,500,0\n250,1,20,1500000\n1000,0,0,0\n");
    CHECK(t.length_ns() == 1500);
    CHECK(t.rate() == doctest::Approx(2e6));
}

TEST_CASE("a written trace is read back to the nanosecond") {
    request_trace t;
    t.keys = 3;
    t.requests = {
        {.arrival_ns = 0, .service_ns = 1, .block_ns = 0, .key = 0},
        {.arrival_ns = 3'599'999'999'999, .service_ns = 9'007'199'254'740'991, .block_ns = 1, .key = 1},
        {.arrival_ns = 3'599'999'999'999, .service_ns = 0, .block_ns = 9'007'199'254'740'992, .key = 2}};
    CHECK(written(read(written(t))) == written(t));
}

TEST_CASE("bursts at whole seconds are read back from a written trace as bursts") {
    const request_trace t = read("arrival_ms,key,service_us\n250,a,1\n250,b,1\n1250,a,1\n1250,b,1\n");
    const std::string bursts = "arrival_ns,key,service_ns,block_ns\n0,0,1000,0\n0,1,1000,0\n1000000000,0,"
                               "1000,0\n1000000000,1,1000,0\n";
    CHECK(written(t) == bursts);
    const request_trace copy = read(written(t));
    CHECK(written(copy) == bursts);
    CHECK(copy.remark.empty());
}

TEST_CASE("a trace is written as plain digits whatever the stream's locale") {
    struct grouping : std::numpunct<char> {
        std::string do_grouping() const override { return "\3"; }
    };
    std::ostringstream out;
    out.imbue(std::locale(std::locale::classic(), new grouping));
    write_trace(out, read(head_line + "0,a,1000\n"));
    CHECK(out.str() == "arrival_ns,key,service_ns,block_ns\n0,0,1000000,0\n");
}

TEST_CASE("columns come in any order, others are skipped, and each unit is taken") {
    const std::string expected = "arrival_ns,key,service_ns,block_ns\n0,0,2000000000,5\n1000000,1,3,0\n";
    CHECK(written(read("what,service_s,arrivals,block_ns,key,arrival_s\n"
                       "x,2,,5,k,10\n"
                       "\"y,\"\"y\",3e-9,,0,l,10.001\n"))
          == expected);
    CHECK(written(read("key,arrival_ms,service_ns,block_us\nk,10000,2e9,.005\nl,10001,3,0.0004\n"))
          == expected);
}

TEST_CASE("columns of a file without names are those that are given") {
    const trace_format format{.columns = "-,arrival:us,key,service:ns,-,block:us"};
    CHECK(written(read("\nx,5,a,20,,1\n,6,b,30,z,0\n", format))
          == "arrival_ns,key,service_ns,block_ns\n0,0,20,1000\n1000,1,30,0\n");
}

TEST_CASE("wrong columns are told by the place in what was given") {
    const auto told = [](const char* columns) { return refusal("\n\n1,2,3\n", {.columns = columns}); };
    CHECK(told("arrival:us,key,arrival:ns")
          == "--columns:1:16: 'arrival:ns' is the second column with that meaning");
    CHECK(told("arrival:us,key,service")
          == "--columns:1:16: column 'service' needs a unit: :s, :ms, :us or :ns");
    CHECK(told("arrival:us,key,time")
          == "--columns:1:16: unknown column 'time'; allowed are arrival:UNIT, key, service:UNIT, class, "
             "block:UNIT, and - for one that is skipped");
    CHECK(told("arrival:us,key")
          == "--columns:1:1: no column service:UNIT or class; --service gives all requests one time");
    CHECK(told("key,service:us") == "--columns:1:1: no column arrival:UNIT");
    CHECK(told("arrival:us,key,service:us,block:us") == "t:3:5: 3 fields where there are 4 columns");
    CHECK(refusal("{\"key\":1}\n", {.columns = "arrival:us,key,class"})
          == "t:1:1: an object of JSON, which names its fields itself: --columns is for CSV");
}

TEST_CASE("classes have the times that are given, and a service time goes first") {
    const trace_format format{.class_ns = {{"get", 20}, {"7", 30}}};
    CHECK(written(read("class,arrival_us,key\nget,0,a\n7,1,a\n", format))
          == "arrival_ns,key,service_ns,block_ns\n0,0,20,0\n1000,0,30,0\n");
    CHECK(written(read("{\"arrival_us\":0,\"key\":\"a\",\"class\":\"get\"}\n{\"class\":7,\"arrival_us\":1,"
                       "\"key\":\"a\"}\n",
                       format))
          == "arrival_ns,key,service_ns,block_ns\n0,0,20,0\n1000,0,30,0\n");
    CHECK(refusal("arrival_us,key,class\n0,a,put\n", format)
          == "t:2:5: class 'put' has no time; --class 'put=20us' gives it one");
    CHECK(written(read("arrival_us,key,class,service_us\n0,a,put,1\n"))
          == "arrival_ns,key,service_ns,block_ns\n0,0,1000,0\n");
    CHECK(written(read("{\"class\":\"put\",\"arrival_us\":0,\"key\":\"a\",\"service_us\":1}\n"))
          == "arrival_ns,key,service_ns,block_ns\n0,0,1000,0\n");
}

TEST_CASE("one time for all stands in for a missing one, and only for that") {
    CHECK(written(read("arrival_us,key\n0,a\n", {.service_ns = 7}))
          == "arrival_ns,key,service_ns,block_ns\n0,0,7,0\n");
    CHECK(written(read("{\"arrival_us\":0,\"key\":1}\n{\"arrival_us\":1,\"key\":1,\"service_ns\":8}\n",
                       {.service_ns = 7}))
          == "arrival_ns,key,service_ns,block_ns\n0,0,7,0\n1000,0,8,0\n");
    CHECK(refusal("arrival_us,key\n0,a\n")
          == "t:1:1: no column service_us (or _s, _ms, _ns) or class; --service gives all requests one time");
    CHECK(
        refusal("{\"arrival_us\":0,\"key\":1,\"service_us\":1}\n{\"arrival_us\":0,\"key\":1}\n")
        == "t:2:1: no 'service_us' (or _s, _ms, _ns) and no 'class'; --service gives all requests one time");
}

TEST_CASE("fields in quotes may hold commas and quotes, and keys are told apart by their text alone") {
    const request_trace t =
        read(head_line + "0,\"a,b\",1\n1,\"a\"\"b\",\"2\"\n2,\"a,b\",3\n3,,4\n4,05,5\n5,5,6\n");
    CHECK(t.keys == 5);
    CHECK(t.requests[0].key == t.requests[2].key);
    CHECK(t.requests[1].service_ns == 2000);
}

TEST_CASE("a bad quote is told with its place") {
    CHECK(refusal(head_line + "0,\"a,1\n1,b\",1\n")
          == "t:2:3: a quote without its end; a field ends on its line");
    CHECK(refusal(head_line + "0,\"a\"b,1\n") == "t:2:6: text behind the end of a quote");
    CHECK(refusal(head_line + "0,a\"b,1\n")
          == "t:2:4: a quote inside of a field: a field with quotes begins with one, and has those inside of "
             "it twice");
}

TEST_CASE("a byte order mark, ends of lines of other systems, blanks and blank lines are nothing") {
    const std::string expected = "arrival_ns,key,service_ns,block_ns\n0,0,1000,0\n1000,1,2000,0\n";
    CHECK(written(read("\xEF\xBB\xBF"
                       "arrival_us,key,service_us\r\n0,a,1\r\n\r\n1,b,2\r\n"))
          == expected);
    CHECK(written(read("\n  \n arrival_us , key,service_us\t\n 0 , a , 1 \n\n1,b,2")) == expected);
    CHECK(written(read("\xEF\xBB\xBF{\"arrival_us\":0,\"key\":\"a\",\"service_us\":1}\r\n \r\n"
                       "  {\"arrival_us\":1,\"key\":\"b\",\"service_us\":2} \r\n"))
          == expected);
}

TEST_CASE("lines of JSON are taken as they name their fields, in any order") {
    const request_trace t =
        read("{\"arrival_ms\":1.5,\"key\":\"a\",\"service_us\":20,\"more\":{\"key\":[1,{\"key\":2}]}}\n"
             "{\"k\\u0065y\":7,\"block_ns\":3,\"service_s\":1e-6,\"arrival_us\":1501}\n"
             "{\"key\":\"7\",\"service_ns\":1,\"arrival_us\":1501}\n");
    CHECK(t.keys == 2);
    CHECK(written(t) == "arrival_ns,key,service_ns,block_ns\n0,0,20000,0\n1000,1,1000,3\n1000,1,1,0\n");
}

TEST_CASE("what is wrong with a line of JSON is told with its place") {
    const std::string good = "{\"arrival_us\":1,\"key\":1,\"service_us\":1}\n";
    const auto told = [&](const std::string& line) { return refusal(good + line + "\n" + good); };
    CHECK(told("{\"arrival_us\":1,\"key\":1,\"service_us\":}") == "t:2:38: not JSON");
    CHECK(told("{\"arrival_us\":1") == "t:2:16: not JSON");
    CHECK(told("{\"key\":1} {}") == "t:2:11: not JSON");
    CHECK(told("1,2,3") == "t:2:2: not JSON");
    CHECK(told("[1]") == "t:2:1: not a JSON object");
    CHECK(told("{\"key\":\"\xff\"}") == "t:2:9: not JSON");
    CHECK(told("{\"arrival_us\":1e999,\"key\":1}") == "t:2:1: holds a number that is too large");
    CHECK(told("{\"key\":1,\"service_us\":1}") == "t:2:1: no 'arrival_us' (or _s, _ms, _ns)");
    CHECK(told("{\"arrival_us\":1,\"service_us\":1}") == "t:2:1: no 'key'");
    CHECK(told("{\"key\":1,\"arrival_us\":\"1\"}") == "t:2:10: 'arrival_us' must be a number, but is \"1\"");
    CHECK(told("{\"key\":1,\"arrival_us\":true}") == "t:2:10: 'arrival_us' must be a number, but is true");
    CHECK(told("{\"key\":1,\"arrival_us\":null}") == "t:2:10: 'arrival_us' must be a number, but is null");
    CHECK(told("{\"key\":1.5}") == "t:2:2: 'key' must be a text or a whole number, but is 1.5");
    CHECK(told("{\"key\":[1]}") == "t:2:2: 'key' must be a text or a whole number, but is array");
    CHECK(told("{\"key\":1,\"arrival_us\":-1}")
          == "t:2:10: '-1' is no time: allowed is a number, 0 to 2^62 ns");
    CHECK(told("{\"key\":1,\"arrival\":1}") == "t:2:10: 'arrival' needs a unit: _s, _ms, _us or _ns");
    CHECK(told("{\"a\":{\"key\":0},\"x\":\"\\\"key\\\":\",\"key\":{}}")
          == "t:2:31: 'key' must be a text or a whole number, but is object");
}

TEST_CASE("a field of JSON that comes twice is refused, also under other names") {
    CHECK(refusal("{\"arrival_us\":1,\"key\":1,\"key\":2,\"service_us\":1}\n")
          == "t:1:25: 'key' is the second field with that meaning");
    CHECK(refusal("{\"arrival_us\":1,\"arrival_ns\":1,\"key\":2,\"service_us\":1}\n")
          == "t:1:17: 'arrival_ns' is the second field with that meaning");
    CHECK(refusal("{\"key\":1,\"k\\u0065y\":1}\n") == "t:1:10: 'key' is the second field with that meaning");
}

TEST_CASE("a value that nests deeply is refused like any other") {
    const std::string deep(200'000, '[');
    const std::string end(200'000, ']');
    CHECK(refusal("{\"key\":" + deep + end + "}\n")
          == "t:1:2: 'key' must be a text or a whole number, but is array");
    CHECK(refusal("{\"more\":" + deep + end + ",\"key\":null}\n")
          == "t:1:400010: 'key' must be a text or a whole number, but is null");
}

TEST_CASE("a number that is no time is told with its place") {
    const auto told = [](const std::string& arrival, const std::string& service) {
        return refusal(head_line + arrival + ",k," + service + "\n");
    };
    const std::string arrival = " is no time: allowed is a number, 0 to 2^62 ns";
    const std::string service = " is no time: allowed is a number, 0 to 2^53 ns";
    for (const char* word :
         {"-1", "nan", "inf", "-inf", "1x", "", "0x10", "+1", "1,5", "1e", "12:30", "--1"}) {
        if (std::string(word) == "1,5") continue; // is two fields
        CHECK(told(word, "1") == "t:2:1: '" + std::string(word) + "'" + arrival);
        CHECK(told("7", word) == "t:2:5: '" + std::string(word) + "'" + service);
    }
    CHECK(told("1e999", "1") == "t:2:1: '1e999'" + arrival);
    CHECK(told("0", "9007199254740.992") == "");
    CHECK(told("0", "9007199254740.993") == "t:2:5: '9007199254740.993'" + service);
    CHECK(told("4611686018427387.904", "0") == "");
    CHECK(told("4611686018427387.905", "0") == "t:2:1: '4611686018427387.905'" + arrival);
    CHECK(told("-0", "-0.0") == "");
    CHECK(told(std::string(100, '9') + "\x1b[2J", "0")
          == "t:2:1: '" + std::string(60, '9') + "...'" + arrival);
    CHECK(told("\x1b[2J", "0") == "t:2:1: '?[2J'" + arrival);
}

TEST_CASE("times of day with their date keep their nanoseconds") {
    const std::string expected =
        "arrival_ns,key,service_ns,block_ns\n0,0,1000,0\n1,0,1000,0\n1000000000,0,1000,0\n";
    CHECK(written(read("arrival_ns,key,service_us\n1700000000123456789,k,1\n1700000000123456790,k,1\n"
                       "1700000001123456789,k,1\n"))
          == expected);
    CHECK(written(read("arrival_s,key,service_us\n1700000000.123456789,k,1\n1700000000.12345679,k,1\n"
                       "1700000001.123456789,k,1\n"))
          == expected);
    CHECK(written(read("{\"arrival_ns\":1700000000123456789,\"key\":1,\"service_us\":1}\n"
                       "{\"arrival_ns\":1700000000123456790,\"key\":1,\"service_us\":1}\n"
                       "{\"arrival_ns\":1700000001123456789,\"key\":1,\"service_us\":1}\n"))
          == expected);
}

TEST_CASE("requests that do not come in their order, or after too long a time, are refused") {
    CHECK(refusal(head_line + "5,a,1\n5,a,1\n4.999,a,1\n")
          == "t:4:1: arrives before the request of the line before: sort the file by arrival");
    CHECK(refusal(
              "{\"key\":1,\"arrival_s\":2,\"service_us\":1}\n{\"key\":1,\"arrival_s\":1,\"service_us\":1}\n")
          == "t:2:10: arrives before the request of the line before: sort the file by arrival");
    CHECK(refusal(head_line + "0,a,1\n3600000000,a,1\n") == "");
    CHECK(
        refusal("key,arrival_us,service_us\na,0,1\na,3600000000.001,1\n")
        == "t:3:3: arrives more than an hour after the request before it: is the unit right? A longer pause "
           "has to be cut out");
    std::string long_one = "arrival_s,key,service_us\n";
    for (int hour = 0; hour <= 2502; ++hour) long_one += std::to_string(hour * 3600) + ",a,1\n";
    CHECK(refusal(long_one) == "t:2504:1: arrives more than 2^53 ns, 104 days, after the first request");
}

TEST_CASE("arrivals in whole seconds are spread over them, with a remark") {
    const request_trace t =
        read("arrival_s,key,service_us\n7,a,1\n7,a,1\n7,a,1\n7,a,1\n8,a,1\n10,a,1\n10,a,1\n");
    std::vector<std::uint64_t> ms;
    for (const request& r : t.requests) ms.push_back(r.arrival_ns / 1'000'000);
    CHECK(ms == std::vector<std::uint64_t>{0, 250, 500, 750, 1000, 3000, 3500});
    CHECK(t.remark
          == "arrivals are whole seconds: those of a second are spread evenly over it, so shorter bursts are "
             "lost");
    SUBCASE("but not if one is not whole, none is shared, or the unit is finer") {
        CHECK(read("arrival_s,key,service_us\n7,a,1\n7,a,1\n7.5,a,1\n").requests[1].arrival_ns == 0);
        CHECK(read("arrival_s,key,service_us\n7,a,1\n8,a,1\n").remark.empty());
        CHECK(read("arrival_ms,key,service_us\n7000,a,1\n7000,a,1\n").requests[1].arrival_ns == 0);
    }
}

TEST_CASE("a table without the columns that are needed is refused") {
    CHECK(refusal("key,service_us\na,1\n") == "t:1:1: no column arrival_us (or _s, _ms, _ns)");
    CHECK(refusal("\n\narrival_us,service_us\n0,1\n") == "t:3:1: no column key");
    CHECK(refusal("0,a,1\n1,a,1\n") == "t:1:1: no column arrival_us (or _s, _ms, _ns)");
    CHECK(refusal("arrival_us,key,service_us,key\n0,a,1,b\n")
          == "t:1:27: 'key' is the second column with that meaning");
    CHECK(refusal("arrival_us,key,service_us,service_ns\n0,a,1,2\n")
          == "t:1:27: 'service_ns' is the second column with that meaning");
    CHECK(refusal("arrival_us,key,service_us,block_hours\n0,a,1,2\n")
          == "t:1:27: column 'block_hours' needs a unit: _s, _ms, _us or _ns");
    CHECK(refusal("arrival,key,service_us\n0,a,1\n")
          == "t:1:1: column 'arrival' needs a unit: _s, _ms, _us or _ns");
}

TEST_CASE("a line with too many or too few fields is refused") {
    CHECK(refusal(head_line + "0,a,1\n1,a\n") == "t:3:3: 2 fields where there are 3 columns");
    CHECK(refusal(head_line + "0,a,1,\n") == "t:2:7: 4 fields where there are 3 columns");
    CHECK(refusal(head_line + "x\n") == "t:2:1: 1 fields where there are 3 columns");
}

TEST_CASE("what is no text, holds nothing, or cannot be read is refused") {
    using namespace std::string_literals;
    CHECK(refusal("") == "t: holds no request");
    CHECK(refusal(head_line) == "t: holds no request");
    CHECK(refusal("\n \n") == "t: holds no request");
    CHECK(refusal(head_line + "0,a\0,1\n"s) == "t:2:4: a zero byte: this is no text");
    CHECK(refusal("{\"key\":1}\0rest\n"s) == "t:1:10: a zero byte: this is no text");
    const auto told = [](const std::string& path) {
        try {
            static_cast<void>(read_trace(path, trace_format{}));
        } catch (const trace_error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(told("/no/such/file") == "/no/such/file: cannot be opened");
    CHECK(told("/tmp") == "/tmp: cannot be read to its end");
    CHECK(told("/proc/self/mem") == "/proc/self/mem: cannot be read to its end");
}

TEST_CASE("a long trace of many keys is read in time that grows with its length alone") {
    std::string text = head_line;
    for (int i = 0; i < 200'000; ++i) text += std::to_string(i) + ",key" + std::to_string(i) + ",1\n";
    CHECK(read(text).keys == 200'000);
}

TEST_CASE("a duration is a number and a unit") {
    CHECK(parse_duration("20us") == 20'000);
    CHECK(parse_duration("1.5 ms") == 1'500'000);
    CHECK(parse_duration(" 2s ") == 2'000'000'000);
    CHECK(parse_duration("1ns") == 1);
    CHECK(parse_duration("1e3us") == 1'000'000);
    CHECK(parse_duration(".5us") == 500);
    CHECK(parse_duration("9007199254740992ns") == 9'007'199'254'740'992);
    for (const char* bad : {"", "20", "us", "20 minutes", "-1us", "0s", "0.1ns", "nan s", "inf s", "1e999s",
                            "9007199254740993ns", "1us2", "1 2us", "0x1us", "1,5us"}) {
        CHECK_THROWS_WITH_AS(
            static_cast<void>(parse_duration(bad)),
            ("'" + std::string(bad)
             + "' is no duration; allowed is a number with s, ms, us or ns, from 1ns to 2^53 ns, "
               "such as 20us")
                .c_str(),
            std::invalid_argument);
    }
}

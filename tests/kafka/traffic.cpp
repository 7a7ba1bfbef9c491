#include <tests/kafka/traffic.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <thread>

namespace kafka_soak {
namespace {

using namespace std::chrono_literals;

// Keys by Zipf's law. The ranks are mixed, so that the frequent keys lie in different partitions.
class zipf_keys {
public:
    zipf_keys(const plan& p, std::uint32_t seed) : key_(p.keys), random_(seed) {
        std::iota(key_.begin(), key_.end(), 0U);
        std::mt19937 same_for_all(p.seed);
        std::shuffle(key_.begin(), key_.end(), same_for_all);
        double sum = 0;
        for (std::uint32_t r = 1; r <= p.keys; ++r)
            sums_.push_back(sum += std::pow(r, -static_cast<double>(p.zipf_percent) / 100.0));
    }
    /// Returns a rank, from 0.
    std::uint32_t rank() {
        const double at = std::uniform_real_distribution<double>(0, sums_.back())(random_);
        return static_cast<std::uint32_t>(std::lower_bound(sums_.begin(), sums_.end(), at) - sums_.begin());
    }
    [[nodiscard]] std::uint32_t key(std::uint32_t rank) const { return key_.at(rank); }
    std::uint32_t one_in(std::uint32_t n) {
        return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(random_);
    }

private:
    std::vector<std::uint32_t> key_;
    std::vector<double> sums_;
    std::mt19937 random_;
};

struct poster_state {
    books* all;
    std::string error;
};

void delivered(rd_kafka_t*, const rd_kafka_message_t* m, void* opaque) {
    auto& state = *static_cast<poster_state*>(opaque);
    if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR)
        state.error = rd_kafka_err2str(m->err);
    else
        state.all->acknowledged(number_in(key_of(*m)), m->partition);
}

client reader_of(const plan& p, const std::string& group) {
    return make_client(RD_KAFKA_CONSUMER, configured({{"bootstrap.servers", p.brokers},
                                                      {"group.id", group},
                                                      {"enable.auto.commit", "false"},
                                                      {"auto.offset.reset", "earliest"},
                                                      {"isolation.level", "read_committed"},
                                                      {"enable.partition.eof", "true"}}));
}

} // namespace

void create_topics(const plan& p) {
    for (const std::string& name : {p.in, p.out, p.dead})
        create_topic(p.brokers, name, static_cast<int>(p.partitions));
}

void post_all(books& all, std::uint32_t poster, const std::stop_token& stop) {
    const plan& p = all.asked();
    poster_state state{&all, {}};
    auto conf = configured({{"bootstrap.servers", p.brokers},
                            {"enable.idempotence", "true"},
                            {"partitioner", "murmur2_random"},
                            {"linger.ms", "5"},
                            {"message.timeout.ms", "120000"}});
    rd_kafka_conf_set_opaque(conf.get(), &state);
    rd_kafka_conf_set_dr_msg_cb(conf.get(), &delivered);
    const client producer = make_client(RD_KAFKA_PRODUCER, std::move(conf));
    zipf_keys keys(p, p.seed * 1000 + poster);
    std::vector<std::uint32_t> next(p.keys);
    const std::uint32_t mine = p.records / p.posters + (poster < p.records % p.posters ? 1 : 0);
    for (std::uint32_t i = 0; i < mine && !stop.stop_requested() && state.error.empty(); ++i) {
        if (i % 100 == 0)
            while (all.waiting() > p.backlog && !stop.stop_requested()) rd_kafka_poll(producer.get(), 10);
        const std::uint32_t rank = keys.rank(), key = keys.key(rank);
        const record_name which{poster, key, next[key]++};
        const char kind = p.slow_rank > 0 && rank == p.slow_rank && p.slow_rank < p.keys ? 's'
                          : p.poison > 0 && keys.one_in(p.poison) == 0                   ? 'x'
                                                                                         : '.';
        all.sent(which);
        produce(producer.get(), p.in, std::to_string(key),
                std::to_string(poster) + " " + std::to_string(which.n) + " " + kind);
        rd_kafka_poll(producer.get(), 0);
    }
    check(rd_kafka_flush(producer.get(), 120'000), "flush of a poster");
    if (!state.error.empty()) throw std::runtime_error("a poster lost a record: " + state.error);
}

void read_outputs(const plan& p, const std::function<void(const input&, bool)>& f,
                  const std::function<bool()>& is_done) {
    const client reader = reader_of(p, p.group + "-reader");
    const partition_list list = partitions_of(p.out, static_cast<int>(p.partitions));
    for (std::uint32_t i = 0; i < p.partitions; ++i)
        rd_kafka_topic_partition_list_add(list.get(), p.dead.c_str(), static_cast<std::int32_t>(i));
    for (int i = 0; i < list->cnt; ++i) list->elems[i].offset = RD_KAFKA_OFFSET_BEGINNING;
    check(rd_kafka_assign(reader.get(), list.get()), "assign");
    struct place {
        bool at_end = false;
        std::int64_t next = 0;
    };
    std::map<std::pair<bool, std::int32_t>, place> places;
    for (int i = 0; i < list->cnt; ++i)
        places[{list->elems[i].topic == p.dead, list->elems[i].partition}] = {};
    for (;;) {
        const message m(rd_kafka_consumer_poll(reader.get(), 50));
        if (m && m->rkt != nullptr) {
            const bool is_dead = rd_kafka_topic_name(m->rkt) == p.dead;
            place& at = places[{is_dead, m->partition}];
            at.at_end = m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
            // After a partition has moved, old versions of librdkafka deliver records again. The offset tells
            // that from a record that was written twice.
            if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR || m->offset < at.next) continue;
            at.next = m->offset + 1;
            f(read_input(key_of(*m), value_of(*m)), is_dead);
        } else if (std::all_of(places.begin(), places.end(),
                               [](const auto& one) { return one.second.at_end; })
                   && is_done()) {
            break;
        }
    }
    rd_kafka_consumer_close(reader.get());
}

std::int64_t lag_of(const plan& p) {
    const client reader = reader_of(p, p.group);
    const auto insist = [](const auto& call, const char* what) { // for example, the coordinator moves
        auto error = call();
        for (int i = 0; i < 100 && error != RD_KAFKA_RESP_ERR_NO_ERROR; ++i) {
            std::this_thread::sleep_for(200ms);
            error = call();
        }
        check(error, what);
    };
    const partition_list list = partitions_of(p.in, static_cast<int>(p.partitions));
    insist([&] { return rd_kafka_committed(reader.get(), list.get(), 60'000); },
           "read the committed offsets");
    std::int64_t lag = 0;
    for (int i = 0; i < list->cnt; ++i) {
        std::int64_t low = 0, high = 0;
        const std::int32_t partition = list->elems[i].partition;
        insist(
            [&] {
                return rd_kafka_query_watermark_offsets(reader.get(), p.in.c_str(), partition, &low, &high,
                                                        60'000);
            },
            "read the end of the input");
        lag += high - std::max<std::int64_t>(list->elems[i].offset, 0);
    }
    return lag;
}

int leader_of(const plan& p, int partition) {
    const client asker = make_client(RD_KAFKA_PRODUCER, configured({{"bootstrap.servers", p.brokers}}));
    const rd_kafka_metadata_t* found = nullptr;
    check(rd_kafka_metadata(asker.get(), 1, nullptr, &found, 30'000), "read the metadata");
    const owned<const rd_kafka_metadata_t> all(found);
    for (int t = 0; t < all->topic_cnt; ++t)
        if (all->topics[t].topic == p.in)
            for (int i = 0; i < all->topics[t].partition_cnt; ++i)
                if (all->topics[t].partitions[i].id == partition) return all->topics[t].partitions[i].leader;
    return -1;
}

} // namespace kafka_soak

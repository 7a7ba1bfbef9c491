// The tables of a schema.
//   format   one row: the version of the tables
//   record   the records that wait. The order of a key is the order of id.
//   lane     The row of a key is its lock, and the state of its retries. Workers add and remove rows.
//   poster   the number of records that a poster has committed, so that it recognizes its last commit
#include <ekiden/postgres/detail/connection.hpp>

namespace ekiden::inline EKIDEN_ABI::postgres {

namespace {

constexpr int newest_format = 1; // also in the statements below

// Dead rows slow the search for keys, so they are removed early.
constexpr const char* tables = R"(
create table @format (version int not null);
insert into @format values (1);
create table @record (queue text not null, key bytea not null, id bigint generated always as identity,
    value bytea, headers bytea, posted timestamptz not null default now(), primary key (queue, key, id))
    with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
create table @lane (queue text not null, key bytea not null, failed bigint, attempts int not null default 0,
    conflicts int not null default 0, ready timestamptz not null default '-infinity',
    parked boolean not null default false, reason text,
    primary key (queue, key)) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
create table @poster (id text primary key, posted bigint not null, seen timestamptz not null default now());
)";

} // namespace

void create_tables(const settings& where) {
    detail::check(where);
    detail::connection server(where, "ekiden");
    server.execute("begin");
    server.execute("select pg_advisory_xact_lock(hashtext('ekiden ' || $1))",
                   {where.schema}); // one process at a time
    server.execute("create schema if not exists \"" + where.schema + '"');
    if (server.execute("select to_regclass($1) is not null", {'"' + where.schema + "\".format"}).flag(0, 0)) {
        const auto found = server.execute("select max(version) from @format");
        if (found.is_null(0, 0) || found.number(0, 0) > newest_format)
            throw error("ekiden: postgres: the tables of the schema \"" + where.schema + "\" have the format "
                            + std::string(found.text(0, 0))
                            + ", but this version of ekiden knows formats up to "
                            + std::to_string(newest_format),
                        "0A000");
    } else {
        server.execute(tables);
    }
    server.execute("commit");
}

} // namespace ekiden::inline EKIDEN_ABI::postgres

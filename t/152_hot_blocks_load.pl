# Hot blocks under loads that wait for pages as such loads do: the right edge
# of an index, a hot row; and while relations and databases are dropped,
# truncated and evicted under the look.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

# Few buffers, so that blocks change places all the time.
my $node = PostgreSQL::Test::Cluster->new('load');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_waitscope'
pg_waitscope.sample_period = 1
pg_waitscope.hot_block_cpu_pct = 20
shared_buffers = 4MB
autovacuum = off
synchronous_commit = off
fsync = off
});
$node->start;
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE TABLE edge (at timestamptz);
CREATE INDEX edge_at ON edge (at);
CREATE TABLE hot_row (id int PRIMARY KEY, n int) WITH (fillfactor = 10);
INSERT INTO hot_row VALUES (1, 0);
CREATE TABLE wide AS
	SELECT i, repeat('x', 500) AS pad FROM generate_series(1, 20000) i;

-- One thing done to one of a few tables that may be there or not.
CREATE FUNCTION change_one() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	t text := 'passing_' || 1 + floor(3 * random());
BEGIN
	CASE floor(8 * random())
	WHEN 0 THEN
		EXECUTE format('DROP TABLE IF EXISTS %s', t);
	WHEN 1 THEN
		EXECUTE format('TRUNCATE %s', t);
	WHEN 2 THEN
		PERFORM sum(length(pad)) FROM wide;
	WHEN 3 THEN
		EXECUTE format('CREATE TABLE %s (at timestamptz)', t);
		EXECUTE format('CREATE INDEX ON %s (at)', t);
	ELSE
		EXECUTE format('INSERT INTO %s SELECT clock_timestamp()
			FROM generate_series(1, 300)', t);
	END CASE;
EXCEPTION WHEN OTHERS THEN
	NULL;
END $$;
});
my $blocks = 'pg_waitscope_hot_blocks';
my $admin = Session->new($node);
my $dir = PostgreSQL::Test::Utils::tempdir();

sub query
{
	my ($sql) = @_;
	return $admin->ask($sql);
}

sub start_pgbench
{
	my ($name, $clients, $script) = @_;
	my $out = '';

	open my $fh, '>', "$dir/$name.sql" or die "$name: $!";
	print $fh $script;
	close $fh;
	return IPC::Run::start(
		[
			'pgbench', '--no-vacuum', "--file=$dir/$name.sql", '-c', $clients,
			'-j', 2, '-T', 3600, $node->connstr('postgres')
		],
		'<', \undef, '>', \$out, '2>&1',
		IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default));
}

sub end_load
{
	my ($load) = @_;
	$load->kill_kill;
	$admin->poll(q{SELECT count(*) = 1 FROM pg_stat_activity
		WHERE backend_type = 'client backend'}) or die 'the load goes on';
	return;
}

# Waits until the load is seen, then ends it.
sub check_load
{
	my ($name, $relation, $load) = @_;

	ok( $admin->poll(qq{SELECT coalesce(sum(samples), 0) >= 20 FROM $blocks
			WHERE relation::text ~ '^$relation'}),
		"$name: $relation is found")
	  or diag query("SELECT * FROM $blocks");
	end_load($load);
	note query("SELECT relation, count(*), sum(samples), sum(shared_samples),
			sum(exclusive_samples), round(sum(est_time)), max(relblocknumber)
		FROM $blocks GROUP BY 1 ORDER BY 3 DESC");
	return;
}

# Sorted by the time waited for them.
my $relations = qq{SELECT string_agg(relation, ' ') FROM (
	SELECT relation::text FROM $blocks WHERE relation IS NOT NULL
	 GROUP BY 1 ORDER BY sum(samples) DESC) r};

query('SELECT pg_waitscope_reset()');
check_load('right edge', 'edge_at', start_pgbench('edge', 16, q{
INSERT INTO edge SELECT clock_timestamp() FROM generate_series(1, 500);
}));
like(query($relations), qr/^(edge_at|edge|edge edge_at|edge_at edge)$/,
	'... and nothing else');
is( query("SELECT count(*) FROM $blocks
		WHERE relation::text = 'edge_at' AND exclusive_samples = 0
		  AND shared_samples < samples AND relblocknumber IS NULL"),
	'0', '... in a mode');
cmp_ok(
	query("SELECT count(*) FROM $blocks WHERE relation = 'edge_at'::regclass
		AND relblocknumber IS NOT NULL"),
	'<=', 8, '... at most 8 of its blocks have rows');

query('SELECT pg_waitscope_reset()');
check_load('hot row', 'hot_row', start_pgbench('hot', 16, q{
UPDATE hot_row SET n = n + 1 WHERE id = 1;
SELECT n FROM hot_row WHERE id = 1;
}));
like(query($relations), qr/^hot_row(_pkey)?( hot_row(_pkey)?)?$/,
	'... and nothing else');

# Relations that come and go, in a buffer pool too small for them.
query('SELECT pg_waitscope_reset()');
my $workers = query('SELECT sampler_pid, keeper_pid FROM pg_waitscope_status');
my $load = start_pgbench('change_one', 12, 'SELECT change_one();');
for my $round (1 .. 5)
{
	$node->safe_psql('postgres', "CREATE DATABASE passing");
	$node->safe_psql('passing', q{
		CREATE TABLE t AS SELECT i FROM generate_series(1, 20000) i;
		UPDATE t SET i = i + 1});
	$node->safe_psql('postgres', "DROP DATABASE passing");
	query("SELECT count(*) FROM (TABLE $blocks) b");
}
ok($admin->poll("SELECT sum(samples) > 0 FROM $blocks"),
	'something was waited for');
end_load($load);
is(query('SELECT sampler_pid, keeper_pid FROM pg_waitscope_status'),
	$workers, 'the workers did not notice');
is( query("SELECT count(*) FROM $blocks
		WHERE num_nulls(samples, shared_samples, exclusive_samples, est_time,
						last_seen) > 0
		   OR shared_samples + exclusive_samples > samples OR est_time < 0
		   OR (relblocknumber IS NULL OR relblocknumber >= 0) IS NOT true"),
	'0', '... all rows are sound');
$admin->quit;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|(keeper|sampler).*ERROR/,
	'no PANIC, no assertion, no error of a worker');
$node->stop;
done_testing();

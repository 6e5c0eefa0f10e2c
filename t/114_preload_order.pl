# Other libraries that hook into the server, preloaded before and after ours:
# all work as they do alone, and query ids are those of pg_stat_statements.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('order');
$node->init;
$node->append_conf('postgresql.conf', q{
autovacuum = off
auto_explain.log_min_duration = 0
});
$node->start;
my $have_ids = $node->safe_psql('postgres', 'SHOW server_version_num') >= 140000;
my ($libdir) = `pg_config --pkglibdir` =~ /(.*)/;
my %shipped = map { $_ => -e "$libdir/$_.so" }
  qw(pg_stat_statements auto_explain pg_wait_sampling);

sub wait_for
{
	my ($condition, $name) = @_;
	ok($node->poll_query_until('postgres', "SELECT $condition"), $name);
}

# Starts the server with that order of libraries, and a session in it.
sub start_with
{
	my ($libraries) = @_;

	$node->append_conf('postgresql.conf',
		"shared_preload_libraries = '$libraries'");
	$node->restart;
	wait_for('ticks > 10 FROM pg_waitscope_status', "$libraries: it samples");
	is( $node->safe_psql('postgres', q{
			SELECT degraded::text FROM pg_waitscope_status}),
		$node->safe_psql('postgres', q{SELECT
			CASE WHEN current_setting('server_version_num')::int >= 140000
				 THEN '{}' ELSE degraded::text END
			  FROM pg_waitscope_status}),
		'... with nothing missing');
	return Session->new($node);
}

# Statements of all kinds that sleep, and how to find them in what another
# library keeps of them.
my @statements = (
	[ 'a plain statement', 'SELECT 1, pg_sleep(0.3)', 'SELECT $1, pg_sleep(%' ],
	[ 'one that writes', 'INSERT INTO items SELECT 2 WHERE pg_sleep(0.3) IS NOT NULL',
		'INSERT INTO items %' ],
	[ 'a utility command', 'CREATE TABLE made AS SELECT 3 AS a, pg_sleep(0.3)::text AS b',
		'CREATE TABLE made %' ],
	[ 'a function\'s caller', 'SELECT 4, nested()', 'SELECT $1, nested()' ]);

# Runs all statements, and returns the query id under which each was sampled
# most, by name.
sub run_statements
{
	my ($session) = @_;
	my %sampled;

	$node->safe_psql('postgres', q{
		DROP TABLE IF EXISTS made;
		SELECT pg_waitscope_reset()});
	foreach my $statement (@statements)
	{
		my ($name, $sql) = @$statement;

		$node->safe_psql('postgres', q{SELECT pg_waitscope_reset('profile')});
		$session->query($sql);
		$sampled{$name} = $node->safe_psql('postgres', q{
			SELECT queryid FROM pg_waitscope_profile
			 WHERE wait_event = 'PgSleep' AND samples > 0});
	}
	return %sampled;
}

$node->safe_psql('postgres', q{
CREATE EXTENSION pg_waitscope;
CREATE TABLE items (id int);
CREATE FUNCTION nested() RETURNS void LANGUAGE plpgsql
	AS 'BEGIN PERFORM pg_sleep(0.3); END';
});

SKIP:
{
	skip 'pg_stat_statements is not installed', 1
	  unless $shipped{pg_stat_statements};

	foreach my $libraries ('pg_waitscope, pg_stat_statements',
		'pg_stat_statements, pg_waitscope')
	{
		my $session = start_with($libraries);

		$session->query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
		$session->query('SELECT pg_stat_statements_reset()');
		my %sampled = run_statements($session);
		foreach my $statement (@statements)
		{
			my ($name, $sql, $text) = @$statement;
			my $theirs = $node->safe_psql('postgres', qq{
				SELECT queryid FROM pg_stat_statements
				 WHERE query LIKE '$text' AND calls = 1});

			like($theirs, qr/^-?\d+$/, "$libraries: $name is in pg_stat_statements");
			is($sampled{$name}, $have_ids ? $theirs : '',
				$have_ids ? '... under the id that is sampled'
				: '... and sampled without an id');
		}
		$session->quit;
	}
}

SKIP:
{
	skip 'auto_explain is not installed', 1 unless $shipped{auto_explain};

	foreach my $libraries ('pg_waitscope, auto_explain',
		'auto_explain, pg_waitscope')
	{
		my $session = start_with($libraries);
		my $before = -s $node->logfile;
		my %sampled = run_statements($session);
		my $log = substr(slurp_file($node->logfile), $before);

		foreach my $statement (@statements[ 0, 1, 3 ])
		{
			my ($name, $sql) = @$statement;
			like($log, qr/plan:\n\tQuery Text: \Q$sql\E/,
				"$libraries: $name is explained");
			like($sampled{$name}, $have_ids ? qr/^-?\d+$/ : qr/^$/,
				'... and sampled');
		}
		$session->quit;
	}
}

SKIP:
{
	skip 'pg_wait_sampling is not installed', 1
	  unless $shipped{pg_wait_sampling};

	foreach my $libraries ('pg_waitscope, pg_wait_sampling',
		'pg_wait_sampling, pg_waitscope')
	{
		my $session = start_with($libraries);

		$session->query('CREATE EXTENSION IF NOT EXISTS pg_wait_sampling');
		my %sampled = run_statements($session);
		my $pid = $session->pid;
		wait_for(qq{sum(count) > 10 FROM pg_wait_sampling_profile
			 WHERE pid = $pid AND event = 'PgSleep'},
			"$libraries: the other one samples");
		foreach my $name (sort keys %sampled)
		{
			like($sampled{$name}, $have_ids ? qr/^-?\d+$/ : qr/^$/,
				"... and so do we: $name");
		}
		wait_for(q{count(*) = 1 FROM pg_waitscope_activity
			 WHERE backend_type = 'pg_wait_sampling collector'
			   AND state_class = 'background idle'},
			'... which its worker is not load for');
		$session->quit;
	}
}

$node->stop('fast');
done_testing();

# A server with the lock drivers, and sessions beside the test.

package FmLockTest;

use strict;
use warnings;

use Exporter qw(import);
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(start_drivers start_session finish_session run_bounded);

# Above this a waiter is taken for lost.
my $patience = 180;

# Never skipped for want of the driver: without it nothing has been tested.
sub start_drivers
{
	my ($name, @variants) = @_;
	my ($libdir) = `pg_config --pkglibdir` =~ /(.+)/;

	foreach (@variants)
	{
		next if -e "$libdir/fmlock_$_.so";
		fail("$libdir/fmlock_$_.so is installed (make install-test-drivers)");
		done_testing();
		exit 1;
	}

	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf',
		"shared_preload_libraries = '"
		  . join(',', map { "fmlock_$_" } @variants) . "'");
	$node->append_conf('postgresql.conf', 'restart_after_crash = on');
	$node->start;
	$node->safe_psql('postgres', "CREATE EXTENSION fmlock_$_")
	  foreach @variants;
	return $node;
}

# One backend that runs some statements, on after errors, while the test goes
# on.  The name is its application_name.
sub start_session
{
	my ($node, $name, @sql) = @_;
	my $session = { out => '', err => '' };

	$session->{run} = IPC::Run::start(
		[
			'psql', '-XAtq', '-d',
			$node->connstr('postgres') . " application_name=$name",
			map { ('-c', $_) } @sql
		],
		'<', \undef, '>', \$session->{out}, '2>', \$session->{err},
		IPC::Run::timeout($patience));
	return $session;
}

# What it printed; blank lines are the results of void functions.
sub finish_session
{
	my ($session) = @_;

	eval { $session->{run}->finish; 1 }
	  or $session->{err} .= "no end of the session: $@";
	return (join('|', grep { /./ } split(/\n/, $session->{out})),
		$session->{err});
}

# Exit code and standard error; a hang is an error.
sub run_bounded
{
	my (@command) = @_;
	my ($out, $err) = ('', '');
	my $ok = eval {
		IPC::Run::run(\@command, '<', \undef, '>', \$out, '2>', \$err,
			IPC::Run::timeout($patience));
	};

	$err .= "no end of $command[0]: $@" if $@;
	return ($ok ? 1 : 0, $err);
}

1;

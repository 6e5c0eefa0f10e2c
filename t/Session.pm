# A psql session that stays open: queries whose end is awaited, and others
# that are only sent.  (The like of it in PostgreSQL::Test differs between
# server versions.)

package Session;

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

# How many things status calls missing that the server could have: 13 never has
# query identifiers.
our $missing = q{(cardinality(degraded) -
	(current_setting('server_version_num')::int < 140000)::int)};

# new($node, database => ..., user => ..., options => ..., replication => ...)
sub new
{
	my ($class, $node, %params) = @_;
	my $connstr = $node->connstr($params{database} || 'postgres');
	$connstr .= " user=$params{user}" if $params{user};
	$connstr .= " replication=$params{replication}" if $params{replication};
	$connstr .= " options='$params{options}'" if $params{options};

	my $self = bless { in => '', out => '', err => '', count => 0 }, $class;
	$self->{timer} = IPC::Run::timer($PostgreSQL::Test::Utils::timeout_default);
	$self->{run} = IPC::Run::start([ 'psql', '-XAtq', '-d', $connstr ],
		'<', \$self->{in}, '>', \$self->{out}, '2>', \$self->{err},
		$self->{timer});
	$self->{pid} = $self->query('SELECT pg_backend_pid()');
	return $self;
}

# Process id of the backend.
sub pid { return $_[0]{pid}; }

# What came to standard error since it was asked for last.
sub errors
{
	my ($self) = @_;
	my $errors = $self->{err};
	$self->{err} = '';
	return $errors;
}

# Sends text to psql and does not wait for anything.
sub send
{
	my ($self, $text) = @_;
	$self->{in} .= $text;
	$self->{run}->pump_nb while length $self->{in};
	return;
}

# Waits for the end of all that was sent, and returns its output.
sub finish
{
	my ($self) = @_;
	my $mark = 'end of command ' . ++$self->{count};

	$self->{timer}->start($PostgreSQL::Test::Utils::timeout_default);
	$self->send("\n\\echo $mark\n");
	until ($self->{out} =~ /^$mark$/m)
	{
		die "no answer: $self->{err}" if $self->{timer}->is_expired;
		$self->{run}->pump;
	}
	$self->{timer}->reset;
	my ($output) = $self->{out} =~ /\A(.*)^$mark$/ms;
	$self->{out} = '';
	chomp $output;
	return $output;
}

sub query
{
	my ($self, $sql) = @_;
	$self->send("$sql;\n");
	return $self->finish;
}

# The same, and dies if that says anything to standard error.
sub ask
{
	my ($self, $sql) = @_;
	my $result = $self->query($sql);
	my $errors = $self->errors;
	die "$sql: $errors" if $errors;
	return $result;
}

# Waits until a query returns true; false if it never does.
sub poll
{
	my ($self, $sql) = @_;
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return 1 if $self->query($sql) eq 't';
		usleep(100_000);
	}
	return 0;
}

# Ends psql; a statement that still runs must have been cancelled.
sub quit
{
	my ($self) = @_;
	$self->{in} .= "\\q\n";
	$self->{run}->finish;
	return;
}

# What the node has for this starts a psql, and so a backend, for each look,
# which was a large part of the CPU time of all tests.
{
	no warnings 'redefine';

	sub PostgreSQL::Test::Cluster::poll_query_until
	{
		my ($node, $database, $sql, $expected) = @_;
		my ($session, $found, $errors) = (undef, '', '');

		local $SIG{PIPE} = 'IGNORE';
		$expected = 't' if !defined $expected;
		for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
		{
			# A server that goes takes the session with it.
			$session ||= eval { Session->new($node, database => $database) };
			$found = eval { $session->query($sql) } // '' if $session;
			$session = undef if $@;
			$errors = $session ? $session->errors : 'no connection';
			if ($errors eq '' && $found eq $expected)
			{
				$session->quit;
				return 1;
			}
			usleep(100_000);
		}
		diag("$sql: got $found, $errors");
		return 0;
	}
}

1;

# Sessions by name that get in each other's way, and what must be true of
# pg_waitscope_lock_chains whatever they do.

package Chains;

use strict;
use warnings;

use Session;
use Test::More;

# Modes, each with those that it conflicts with.
my %conflicts = (
	AccessShareLock          => 'AccessExclusive',
	RowShareLock             => 'Exclusive AccessExclusive',
	RowExclusiveLock         => 'Share ShareRowExclusive Exclusive AccessExclusive',
	ShareUpdateExclusiveLock => 'ShareUpdateExclusive Share ShareRowExclusive
		Exclusive AccessExclusive',
	ShareLock => 'RowExclusive ShareUpdateExclusive ShareRowExclusive
		Exclusive AccessExclusive',
	ShareRowExclusiveLock => 'RowExclusive ShareUpdateExclusive Share
		ShareRowExclusive Exclusive AccessExclusive',
	ExclusiveLock => 'RowShare RowExclusive ShareUpdateExclusive Share
		ShareRowExclusive Exclusive AccessExclusive',
	AccessExclusiveLock => 'AccessShare RowShare RowExclusive
		ShareUpdateExclusive Share ShareRowExclusive Exclusive
		AccessExclusive');
my @pairs = map {
	my $mode = $_;
	map { "('$mode', '${_}Lock')" } split ' ', $conflicts{$mode}
} sort keys %conflicts;

# What pg_locks says of each wait: who holds what conflicts.
my $holders = 'WITH conflicts (wanted, held) AS (VALUES '
  . join(', ', @pairs) . q{), locks AS MATERIALIZED (
	SELECT l.*, (locktype, database, relation, page, tuple, virtualxid,
				 transactionid, classid, objid, objsubid)::text AS tag,
		   coalesce(a.leader_pid, l.pid, 0) AS leader
	  FROM pg_locks l LEFT JOIN pg_stat_activity a USING (pid))
	SELECT w.pid, w.leader, coalesce(array_agg(DISTINCT h.leader)
			FILTER (WHERE h.leader IS NOT NULL), '{}') AS held_by,
		   pg_blocking_pids(w.pid) AS blocked_by, w.mode, w.locktype,
		   CASE w.locktype
			 WHEN 'tuple' THEN format('(%s,%s)', w.page, w.tuple)
			 WHEN 'page' THEN w.page::text
			 WHEN 'transactionid' THEN w.transactionid::text
			 WHEN 'virtualxid' THEN w.virtualxid
			 WHEN 'object' THEN concat_ws('/', w.classid, w.objid, w.objsubid)
			 WHEN 'advisory' THEN
				CASE w.objsubid
				  WHEN 1 THEN ((w.classid::bigint << 32) | w.objid::bigint)::text
				  ELSE format('(%s,%s)', w.classid::bigint::bit(32)::int,
							  w.objid::bigint::bit(32)::int)
				END
			 END AS lock_key,
		   w.database, w.relation
	  FROM locks w
	  LEFT JOIN conflicts c ON c.wanted = w.mode
	  LEFT JOIN locks h ON h.tag = w.tag AND h.granted AND h.mode = c.held
			AND h.leader <> w.leader
	 WHERE NOT w.granted
	 GROUP BY w.pid, w.leader, w.mode, w.locktype, lock_key, w.database,
			w.relation};

sub new
{
	my ($class, $node) = @_;
	return bless { node => $node, sessions => {} }, $class;
}

sub admin
{
	my ($self) = @_;
	return $self->{admin} ||= Session->new($self->{node});
}

sub ask { return $_[0]->admin->ask($_[1]); }
sub poll { return $_[0]->admin->poll($_[1]); }
sub pid { return $_[0]{sessions}{ $_[1] }->pid; }

sub start
{
	my ($self, @names) = @_;
	$self->{sessions}{$_} = Session->new($self->{node}) foreach @names;
	return;
}

# Runs statements to their end; undef: the one that still runs is cancelled,
# if it has not ended, and waited for.
sub does
{
	my ($self, $name, @statements) = @_;
	my $session = $self->{sessions}{$name};
	my $result;

	foreach my $sql (@statements)
	{
		if (defined $sql)
		{
			$result = $session->ask($sql);
			next;
		}
		$self->ask('SELECT pg_cancel_backend(pid) FROM pg_stat_activity
			WHERE state = \'active\' AND pid = ' . $session->pid);
		$session->finish;
		$session->errors;
	}
	return $result;
}

sub waits_otherwise
{
	my ($self, $name, $sql) = @_;
	$self->{sessions}{$name}->send("$sql;\n");
	return;
}

# Sends a statement that must wait for a lock.
sub waits
{
	my ($self, $name, $sql) = @_;
	my $pid = $self->pid($name);

	$self->waits_otherwise($name, $sql);
	$self->poll("SELECT count(*) = 1 FROM pg_locks
		WHERE NOT granted AND pid = $pid")
	  or die "$name does not wait: $sql";

	# The server sets it a moment later.
	$self->poll("SELECT count(*) = 1 FROM pg_locks
		WHERE NOT granted AND pid = $pid AND waitstart IS NOT NULL")
	  or die "$name has no start of its wait: $sql"
	  if $self->ask('SHOW server_version_num') >= 140000;
	return;
}

# Result of a query, with names in place of the process ids of sessions.
sub names
{
	my ($self, $sql) = @_;
	my %names = map { $self->pid($_) => $_ } keys %{ $self->{sessions} };
	return $self->ask($sql) =~ s/\b(\d+)\b/$names{$1} || $1/ger;
}

# Ends all sessions, and whatever else waits for a lock.
sub end
{
	my ($self) = @_;
	my $pids = join ', ', map { $self->pid($_) } keys %{ $self->{sessions} };

	$self->ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE pid IN ($pids)");
	$self->poll("SELECT count(*) = 0 FROM pg_stat_activity WHERE pid IN ($pids)")
	  or die 'they do not end';
	$_->{run}->kill_kill foreach values %{ $self->{sessions} };
	$self->{sessions} = {};
	$self->poll('SELECT count(*) = 0 FROM pg_locks WHERE NOT granted')
	  or die 'somebody still waits';
	$self->{admin}->quit;
	delete $self->{admin};
	return;
}

sub sorted
{
	my %unique = map { $_ => 1 } @_;
	return join ',', sort { $a <=> $b } keys %unique;
}

sub list
{
	my ($array) = @_;
	return $array =~ /(\d+)/g;
}

# For each group that waits, and each that it waits for: who waits for it at
# any distance?
sub reach
{
	my ($waits_for, $source) = @_;
	my %reached;
	my @todo = ($source);

	while (defined(my $group = shift @todo))
	{
		push @todo, grep { !$reached{$_}++ }
		  grep { $waits_for->{$_}{$group} } keys %$waits_for;
	}
	return \%reached;
}

# Everything that is to be true of the view while nothing moves.
sub check
{
	my ($self, $name) = @_;
	my (%wait, %waits_for, %members, %seen, @above);
	my @wrong;

	foreach (split /\n/, $self->ask($holders))
	{
		my %row;
		@row{qw(pid leader held_by blocked_by mode locktype lock_key database
			relation)} = split /\|/, $_, -1;
		$wait{ $row{pid} } = \%row;
		$members{ $row{leader} }++;
		$waits_for{ $row{leader} }{$_} = 1
		  foreach grep { $_ } list($row{blocked_by});
	}
	my @rows = split /\n/, $self->ask(q{
		SELECT line, depth, coalesce(pid, 0), coalesce(leader_pid, pid, 0),
			   coalesce(root_pid, 0), blocked_count, in_cycle, held_by,
			   queued_behind, locktype, lock_key, mode, lock_datid, lock_relid,
			   ltrim(tree), length(tree) - length(ltrim(tree))
		  FROM pg_waitscope_lock_chains});
	my $lines = 0;
	foreach (@rows)
	{
		my %row;
		@row{qw(line depth pid leader root_pid blocked_count in_cycle held_by
			queued_behind locktype lock_key mode lock_datid lock_relid tree
			indent)} = split /\|/, $_, -1;
		my $wait = delete $wait{ $row{pid} };
		my @held_by = list($row{held_by});
		my @queued_behind = list($row{queued_behind});
		my $who = "row $row{line} (pid $row{pid})";
		my $parent = $row{depth} > 0 ? $above[ $row{depth} - 1 ] : undef;

		push @wrong, "$who: line" if $row{line} != ++$lines;
		push @wrong, "$who: twice" if $row{pid} && $seen{ $row{pid} }++;
		push @wrong, "$who: indented" if $row{indent} != 2 * $row{depth};
		push @wrong, "$who: tree"
		  if $row{pid} && $row{tree} !~ /^$row{pid}( \(cycle\))?$/;

		# Its wait.
		if (!$wait)
		{
			push @wrong, "$who: waits for nobody, is not on top"
			  if $row{depth} > 0 || @held_by || @queued_behind;
		}
		else
		{
			# In a parallel query it may be for what another of it waits.
			my $blocked_by = sorted(list($wait->{blocked_by}));
			push @wrong, "$who: blockers are $blocked_by"
			  if $members{ $row{leader} } == 1
			  && sorted(@held_by, @queued_behind) ne $blocked_by;
			push @wrong, "$who: holders are $wait->{held_by}"
			  if sorted(@held_by) ne sorted(list($wait->{held_by}));
			push @wrong, "$who: holder and queued"
			  if grep { my $h = $_; grep { $h == $_ } @queued_behind } @held_by;
			push @wrong, "$who: $_ is $wait->{$_}"
			  foreach grep { $row{$_} ne $wait->{$_} }
			  qw(locktype lock_key mode leader);
			push @wrong, "$who: relation is $wait->{relation}"
			  if $row{lock_relid} ne $wait->{relation}
			  || ($row{lock_datid} || 0) != ($wait->{database} || 0);
			push @wrong, "$who: on top, but waits"
			  if $row{depth} == 0 && $row{in_cycle} ne 't';
		}

		# Its place.
		push @wrong, "$who: no row to stand below"
		  if $row{depth} > 0 && !$parent;
		if ($parent)
		{
			push @wrong, "$who: does not wait for the row above"
			  if !grep { $_ == $parent->{leader} } @held_by, @queued_behind;
			push @wrong, "$who: queued, but stands there although held up"
			  if @held_by && !grep { $_ == $parent->{leader} } @held_by;
			push @wrong, "$who: root" if $row{root_pid} != $parent->{root_pid};
		}
		push @wrong, "$who: root of itself"
		  if $row{depth} == 0 && $row{root_pid} != $row{pid};
		@above = (@above[ 0 .. $row{depth} - 1 ], \%row);

		# Who waits for it.
		next if !$row{pid};
		my $reached = reach(\%waits_for, $row{leader});
		my $blocked = 0;
		$blocked += $members{$_}
		  foreach grep { $_ != $row{leader} } keys %$reached;
		push @wrong, "$who: $blocked wait for it"
		  if $row{blocked_count} != $blocked;
		push @wrong, "$who: circle"
		  if ($row{in_cycle} eq 't') != !!$reached->{ $row{leader} };
	}
	push @wrong, map { "pid $_ is missing" } sort keys %wait;
	push @wrong, 'no rows' if !@rows;
	is(join("\n", @wrong), '', "$name: true to pg_locks and pg_blocking_pids()")
	  or diag(join "\n", @rows);
	return;
}

1;

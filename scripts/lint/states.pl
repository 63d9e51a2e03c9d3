#!/usr/bin/perl
# In session/, only states.hpp may write the state of a session; other files must call `enter`. The tables and diagrams of
# docs/session/states.md must match states.hpp. `--fix` writes them, and keeps the last column of each table of states.
use strict; use warnings; use lib 'scripts/lint'; use House;
my ($header, $page) = ('include/specverify/session/states.hpp', 'docs/session/states.md');
done(0) unless -e $header;
my $source = slurp($header);
my $checked = 0;

my @sources = grep { $_ ne $header } files(qr/\.(hpp|cuh|def)$/, 'include/specverify/session');
my %names = map { $_ => 1 } 'state_', map { code_of(slurp($_)) =~ /\bsession_state<[^;{}]*>\s+(\w+)/g } @sources;
my $name = join '|', sort keys %names;
for my $file (@sources) {
  my $number = 0;
  for my $line (split /\n/, code_of(slurp($file))) {
    ++$number; ++$checked;
    complain("$file:$number", 'writes the state; call `enter` of session/states.hpp')
      if $line =~ /\b(?:$name)\s*=(?!=)|\b(?:exchange|swap)\s*\((?:[^()]*,)?\s*(?:this\s*->\s*|\w+\.)?(?:$name)\b/;
    complain("$file:$number", 'keeps a state of its own; session_state of session/states.hpp holds it')
      if $line =~ /\b(?:edge|cloud)_state\s+\w+_\s*(?:[={;]|$)/;
  }
}

# Returns the table of one side as rows [name, [kinds]] and [event, [from], to, is usual], and descriptions of events.
sub side {
  my ($side) = @_;
  my ($table) = $source =~ /\nstruct ${side}_table \{\n(.*?)\n\};/s or die "$header: no ${side}_table\n";
  my ($events) = $source =~ /\nenum class ${side}_event\b[^{]*\{\n(.*?)\n\};/s or die "$header: no ${side}_event\n";
  my %about = $events =~ m{^\s*(\w+),?\s*//!< (.*)$}mg;
  my ($states, $rows) = $table =~ /\bstates\[\] = \{\n(.*?)\n  \};.*?\btransitions\[\] = \{\n(.*?)\n  \};/s
    or die "$header: ${side}_table has no states or no transitions\n";
  my (@states, @rows);
  while ($states =~ /\{(\w+),\s*\{([^{}]*)\}\}/g) { my ($state, $kinds) = ($1, $2); push @states, [$state, [$kinds =~ /kind::(\w+)/g]] }
  my $usual = 0;
  for my $part (split /^\s*\/\/ /m, $rows) {
    $usual = $part =~ /^Without faults:/ if $part =~ /^\w/;
    while ($part =~ /\{(\w+),\s*(any|\{[^{}]*\}),\s*(\w+)\}/g) {
      my ($event, $from, $to) = ($1, $2, $3);
      push @rows, [$event, [$from =~ /\w+/g], $to, $usual];
    }
  }
  return (\@states, \@rows, \%about);
}

# Returns the block of one side. `$old` is the present block, from which the descriptions of states are kept.
sub block {
  my ($side, $old) = @_;
  my ($states, $rows, $about) = side($side);
  my %said = $old =~ /^\| `(\w+)` \|[^|\n]*\| ([^|\n]*?) \|$/mg;
  my $list = sub { join ', ', map { "`$_`" } @_ };
  my $text = "\n| state | accepted messages | the $side |\n|---|---|---|\n";
  for (@$states) {
    complain($page, "says nothing about the state `$_->[0]` of the $side") unless length($said{$_->[0]} // '');
    $text .= "| `$_->[0]` | " . (@{$_->[1]} ? $list->(@{$_->[1]}) : 'none') . " | " . ($said{$_->[0]} // '') . " |\n";
  }
  my (@arrows, %labels);
  for my $row (grep { $_->[3] } @$rows) {
    for my $from (grep { $_ ne $row->[2] } @{$row->[1]}) {
      push @arrows, "$from --> $row->[2]" unless $labels{"$from --> $row->[2]"};
      push @{$labels{"$from --> $row->[2]"}}, $row->[0];
    }
  }
  $text .= "\nWithout faults:\n\n```mermaid\nstateDiagram-v2\n  [*] --> $states->[0][0]\n";
  $text .= "  $_: " . join(', ', @{$labels{$_}}) . "\n" for @arrows;
  $text .= "```\n\nAll events:\n\n| event | when | from | to |\n|---|---|---|---|\n";
  my (%from, %to, @events);
  for my $row (@$rows) {
    push @events, $row->[0] unless $from{$row->[0]};
    push @{$from{$row->[0]}}, @{$row->[1]};
    $to{$row->[0]} = $row->[2];
  }
  my %order = map { $states->[$_][0] => $_ } 0 .. $#$states;
  for (@events) {
    complain($header, "says nothing about the event $_ of the $side") unless defined $about->{$_};
    my @from = sort { ($order{$a} // -1) <=> ($order{$b} // -1) } @{$from{$_}};
    $text .= "| `$_` | " . ($about->{$_} // '') . " | " . ("@from" eq 'any' ? 'any' : $list->(@from)) . " | `$to{$_}` |\n";
  }
  $checked += @$states + @$rows;
  return "$text\n";
}

my $text = slurp($page);
for my $side (qw(edge cloud)) {
  my ($begin, $end) = ("<!-- states: $side -->\n", "<!-- end of states: $side -->\n");
  my ($old) = $text =~ /\Q$begin\E(.*?)\Q$end\E/s;
  if (!defined $old) { complain($page, "no block `states: $side`"); next }
  my $new = block($side, $old);
  next if $old eq $new;
  if (@ARGV && $ARGV[0] eq '--fix') { $text =~ s/\Q$begin\E.*?\Q$end\E/$begin$new$end/s; next }
  my %had = map { $_ => 1 } split /\n/, $old;
  my %has = map { $_ => 1 } split /\n/, $new;
  complain($page, "not in session/states.hpp: $_") for grep { length && !$has{$_} } split /\n/, $old;
  complain($page, "missing: $_") for grep { length && !$had{$_} } split /\n/, $new;
  complain($page, 'differs from session/states.hpp: perl scripts/lint/states.pl --fix');
}
if (@ARGV && $ARGV[0] eq '--fix') {
  open my $out, '>', $page or die "$page: cannot write\n";
  print $out $text;
}
done($checked);

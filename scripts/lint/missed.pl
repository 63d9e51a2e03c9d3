#!/usr/bin/perl
# docs/performance.md must list exactly the goals that are `missed` in benchmarks/goals.json, with their limits: at most four.
use strict; use warnings; use lib 'scripts/lint'; use House;
my ($goals, $page, $most) = ('benchmarks/goals.json', 'docs/performance.md', 4);
exit done(0) unless -e $goals;
my ($set, $number, %listed, $entries) = ('', 0);
for my $line (split /\n/, slurp($goals)) {
  ++$number;
  $set = $1 if $line =~ /^\s*"([^"]+)": \[/;
  next unless $line =~ /"path"/;
  ++$entries;
  my %value = $line =~ /"(\w+)": (?|"([^"]*)"|([\d.]+))/g;
  if (grep { !defined $value{$_} } qw(path rows V ratio) or $line !~ /^\s*\{[^{}]*\},?\s*$/) {
    complain("$goals:$number", 'not one goal on one line');
    next;
  }
  next unless $line =~ /missed/;
  complain("$goals:$number", 'a limit that is no number above the goal')
    unless ($value{missed} // 0) > $value{ratio};
  $listed{join ' | ', $set, @value{qw(path rows V)}, '+' . ($value{offset} // 0), $value{ratio}, $value{missed} // '?'} = 1;
}
complain($goals, scalar keys(%listed) . " goals are listed as missed, at most $most") if keys %listed > $most;
my ($section) = -e $page ? slurp($page) =~ /^## Goals that are missed\n(.*?)(?=^## |\z)/ms : '';
my %shown;
for my $line (split /\n/, $section // '') {
  next unless my ($cells) = $line =~ /^\| (.*\S) *\|$/;
  my @cells = split / *\| */, $cells;
  $shown{join ' | ', @cells[0 .. 6]} = 1 if @cells >= 8 && ($cells[3] // '') =~ /^\d+$/;
}
complain($page, "does not list \"$_\" under \"Goals that are missed\"") for grep { !$shown{$_} } sort keys %listed;
complain($page, "lists \"$_\", which $goals does not") for grep { !$listed{$_} } sort keys %shown;
done($entries // 0);

#!/usr/bin/perl
# A module may include only modules to its left in the list below; umbrella headers are not in the list. No header may
# include itself through other headers, not even within a module.
use strict; use warnings; use lib 'scripts/lint'; use House;
my @line = qw(core kernel row distribution sparsify quantize uncertainty codec link verify decision_head policy vocabulary session host delivery);
my %rank; @rank{@line} = 0 .. $#line;
my %umbrella = map { $_ => 1 } qw(specverify.hpp all.hpp);
my %outside = map { $_ => 1 } qw(version.hpp config.hpp cpp20.hpp);    # every module may include these
my %includes;    # header => headers that it includes
my @files = files(qr/\.(hpp|cuh|def)$/, 'include/specverify');
for my $file (@files) {
  (my $path = $file) =~ s{^include/specverify/}{};
  my $room = $path =~ m{^([^/]+)/} ? $1 : '';
  complain($file, "the room $room is not in the list") if $room && !exists $rank{$room} && $room !~ /^(testing|device|cuda)$/;
  my $number = 0;
  for my $text (split /\n/, slurp($file)) {
    ++$number;
    next unless $text =~ /^\s*#\s*include\s*([<"])([^>"]+)[>"]/;
    my ($quote, $target) = ($1, $2);
    complain("$file:$number", 'includes take angle brackets') if $quote eq '"' && !$umbrella{$path};
    next unless $target =~ s{^specverify/}{};
    push @{$includes{$path}}, $target;
    next if $umbrella{$path};
    if ($umbrella{$target}) { complain("$file:$number", "includes the umbrella $target"); next }
    next if $outside{$target};
    my $other = $target =~ m{^([^/]+)/} ? $1 : '';
    next if $other eq $room;
    if ($room eq '') { complain("$file:$number", "a root header includes $target"); next }
    my $limit = exists $rank{$room} ? $rank{$room} : $rank{verify} + 1;
    complain("$file:$number", "$room may not include $target")
      unless (exists $rank{$other} && $rank{$other} < $limit) || "$room $other" eq 'cuda device';
    complain("$file:$number", 'of policy/, session includes what takes any policy only, presets and the list of systems all')
      if $room eq 'session' && $other eq 'policy' && $path !~ m{^session/(presets|detail/system_list)\.hpp$} && $target !~ m{^policy/(concepts|observation|budgeted|observe_skip|detail/part_kinds)\.hpp$};
  }
}
# Tarjan's algorithm: a set of headers that reach each other is a cycle.
my ($time, @stack, %index, %low, %open, @circles) = (0);
sub visit {
  my ($path) = @_;
  $index{$path} = $low{$path} = ++$time;
  push @stack, $path;
  $open{$path} = 1;
  for my $target (@{$includes{$path} || []}) {
    visit($target) unless $index{$target};
    $low{$path} = $low{$target} if $open{$target} && $low{$target} < $low{$path};
  }
  return if $low{$path} != $index{$path};
  my @circle;
  do { push @circle, pop @stack; delete $open{$circle[-1]} } while $circle[-1] ne $path;
  my $itself = grep { $_ eq $path } @{$includes{$path} || []};
  push @circles, [sort @circle] if @circle > 1 || $itself;
}
for my $path (sort keys %includes) { visit($path) unless $index{$path} }
for my $circle (@circles) {
  complain("include/specverify/$circle->[0]", 'stands in a circle of includes: ' . join(' ', @$circle));
}
done(scalar @files);

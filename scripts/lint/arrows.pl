#!/usr/bin/perl
# Rooms stand in a line and include only rooms to their left; umbrellas stand outside.
use strict; use warnings; use FindBin; use lib $FindBin::Bin; use House;
my @line = qw(core kernel row distribution sparsify quantize uncertainty codec link verify decision_head policy vocabulary session);
my %rank; @rank{@line} = 0 .. $#line;
my %umbrella = map { $_ => 1 } qw(specverify.hpp all.hpp fwd.hpp);
my %outside = map { $_ => 1 } qw(version.hpp config.hpp);    # every room may include these
my @files = files(qr/\.(hpp|cuh|def)$/, 'include/specverify');
for my $file (@files) {
  (my $path = $file) =~ s{^include/specverify/}{};
  next if $umbrella{$path};
  my $room = $path =~ m{^([^/]+)/} ? $1 : '';
  complain($file, "the room $room is not in the list") if $room && !exists $rank{$room} && $room !~ /^(testing|device|cuda)$/;
  my $number = 0;
  for my $text (split /\n/, slurp($file)) {
    ++$number;
    next unless $text =~ /^\s*#\s*include\s*([<"])([^>"]+)[>"]/;
    my ($quote, $target) = ($1, $2);
    complain("$file:$number", 'includes take angle brackets') if $quote eq '"';
    next unless $target =~ s{^specverify/}{};
    if ($umbrella{$target}) { complain("$file:$number", "includes the umbrella $target"); next }
    next if $outside{$target};
    my $other = $target =~ m{^([^/]+)/} ? $1 : '';
    next if $other eq $room;
    if ($room eq '') { complain("$file:$number", "a root header includes $target"); next }
    my $limit = exists $rank{$room} ? $rank{$room} : $rank{verify} + 1;
    complain("$file:$number", "$room may not include $target") unless exists $rank{$other} && $rank{$other} < $limit;
    complain("$file:$number", 'of policy/, session includes concepts and observation only')
      if $room eq 'session' && $other eq 'policy' && $target !~ m{^policy/(concepts|observation)\.hpp$};
  }
}
done(scalar @files);

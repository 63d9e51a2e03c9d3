#!/usr/bin/perl
# Only kernel/, row/, device/ and cuda/ open a row: nobody else names row_access (core/views.hpp declares it)
# or reading_access.
use strict; use warnings; use lib 'scripts/lint'; use House;
my @files = grep { !m{^include/specverify/(kernel|row|device|cuda)/} && $_ ne 'include/specverify/core/views.hpp' }
  files(qr/\.(hpp|cuh|h|cpp|cu)$/, qw(include examples apps models adapters benchmarks)), block_files(qr/\.(hpp|cpp|inc)$/);
for my $file (@files) {
  my $number = 0;
  for my $line (split /\n/, slurp($file)) {
    ++$number;
    next if $line =~ m{^\s*//};
    complain("$file:$number", 'opens a row') if $line =~ /\brow_access\b/;
    complain("$file:$number", 'joins a digest to a row') if $line =~ /\breading_access\b/;
  }
}
done(scalar @files);

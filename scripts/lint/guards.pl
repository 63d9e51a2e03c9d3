#!/usr/bin/perl
# Include guards must match the path, and every source file must begin with the licence line.
use strict; use warnings; use lib 'scripts/lint'; use House;
my @headers = files(qr/\.(hpp|cuh|h)$/, 'include');
for my $file (@headers) {
  (my $guard = $file) =~ s{^include/}{};
  $guard =~ s/[^A-Za-z0-9]+/_/g;
  $guard = uc $guard;
  my $text = slurp($file);
  complain($file, "the guard is not $guard") unless $text =~ /^#ifndef $guard\n#define $guard\n/m && $text =~ /\n#endif[^\n]*\n*$/;
  complain($file, 'macros of the library start with SPECVERIFY_: ' . $1) while $text =~ /^#\s*define\s+(?!SPECVERIFY_)(\w+)/mg;
}
my @sources = (files(qr/\.(hpp|cuh|h|cpp|cu|def)$/, qw(include src tests examples apps models benchmarks adapters)));
for my $file (@sources) {
  complain($file, 'does not start with // SPDX-License-Identifier: Apache-2.0') unless slurp($file) =~ m{^// SPDX-License-Identifier: Apache-2\.0\n};
}
done(scalar @sources);

#!/usr/bin/perl
# The first entry of the changelog must have the version of version.hpp.
use strict; use warnings; use lib 'scripts/lint'; use House;
my $text = slurp('include/specverify/version.hpp');
my $version = join '.', map { $text =~ /SPECVERIFY_VERSION_$_ (\d+)/ ? $1 : '?' } qw(MAJOR MINOR PATCH);
my ($first) = slurp('CHANGELOG.md') =~ /^## (\d+\.\d+\.\d+)/m;
complain('CHANGELOG.md', 'its first entry is ' . ($first // 'missing') . ", the version is $version") unless ($first // '') eq $version;
done(1);

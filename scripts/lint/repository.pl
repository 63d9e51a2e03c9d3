#!/usr/bin/perl
# The repository must not contain paths of a machine, hosts of a package registry, or unfinished text.
use strict; use warnings; use lib 'scripts/lint'; use House;
my @files = grep { -T } (files(qr/./, qw(include tests examples apps models benchmarks adapters docs cmake scripts .ci)),
  grep { -f } qw(CMakeLists.txt CMakePresets.json README.md CONTRIBUTING.md CHANGELOG.md run .clang-format .clang-tidy .gitignore));
for my $file (@files) {
  next if $file eq 'scripts/lint/repository.pl';
  next if -s $file > 1_000_000;
  my $number = 0;
  for my $line (split /\n/, slurp($file)) {
    ++$number;
    complain("$file:$number", 'a path of one machine') if $line =~ m{(?<![\w./\$\}>-])/(work|home|root|Users|mnt)/\w};
    complain("$file:$number", 'a registry host') if $line =~ /pypi\.org|pythonhosted|deb\.debian\.org|npmjs\.|proxy\.golang/;
    complain("$file:$number", 'left unfinished') if $line =~ /\b(TODO|FIXME|XXX)\b|not implemented yet/ && $file !~ m{^scripts/lint/};
    complain("$file:$number", 'a tab or a blank at the end') if $line =~ /[ \t]+$/ && $file =~ /\.(hpp|cpp|cmake|txt|py|sh|pl)$/;
  }
}
done(scalar @files);

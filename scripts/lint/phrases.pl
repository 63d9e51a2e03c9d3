#!/usr/bin/perl
# Phrases and names of scripts/lint/phrases.txt do not come back: in pages, in comments, in names.
use strict; use warnings; use utf8; use lib 'scripts/lint'; use House;
binmode STDOUT, ':utf8';
sub text_of { my $text = slurp($_[0]); utf8::decode($text); return $text }
my %rules = (pages => [], comments => [], names => []);
my $number = 0;
for my $line (split /\n/, text_of('scripts/lint/phrases.txt')) {
  ++$number;
  next if $line =~ /^\s*(#|$)/;
  my ($scope, $pattern, $instead) = split /\t/, $line, 3;
  if (!defined $instead || !$rules{$scope}) { complain("scripts/lint/phrases.txt:$number", 'not "scope, pattern, instead"'); next }
  push @{$rules{$scope}}, [qr/$pattern/, $instead];
}
# The lines of a file, joined in pairs where a phrase may be cut by the end of a line.
sub look {
  my ($file, $scope, $text) = @_;
  my @lines = split /\n/, $text;
  for my $i (0 .. $#lines) {
    my $next = $i < $#lines ? $lines[$i + 1] : '';
    s/^\s*(\/\/!?<?)?\s*// for $next;
    for my $rule (@{$rules{$scope}}) {
      my ($pattern, $instead) = @$rule;
      my $pair = $scope eq 'names' ? $lines[$i] : "$lines[$i] $next";
      while ($pair =~ /$pattern/g) {
        next if $-[0] >= length $lines[$i];    # found again with the next line
        complain("$file:" . ($i + 1), "\"$&\"", $instead);
      }
    }
  }
}
my @pages = grep { !/CHANGELOG/ } (files(qr/\.md$/, qw(docs apps models examples adapters)), grep { -e } qw(README.md CONTRIBUTING.md SECURITY.md));
for my $page (@pages) {
  my $text = text_of($page);
  $text =~ s/^```(\w+).*?^```/my $gone = $&; "\n" x ($gone =~ tr{\n}{})/msge;
  look($page, 'pages', $text);
}
my @sources = (files(qr/\.(hpp|cuh|h|cpp|cu|def)$/, qw(include src tests examples apps models benchmarks adapters)), block_files(qr/\.(hpp|cpp|inc)$/));
for my $file (@sources) {
  my $text = text_of($file);
  look($file, 'names', code_of($text));
  my $comments = join "\n", map { m{(//.*)} ? $1 : '' } split /\n/, $text;
  look($file, 'comments', $comments);
}
done(scalar(@pages) + scalar(@sources));

#!/usr/bin/perl
# A page's block after <!-- example: PATH --> is the file, word for word (its licence line aside). Links lead somewhere, the index
# docs/README.md names every page, the first or second sentence of a page of algorithms begins with "Use it when", and the first
# screen has at most 6000 bytes.
use strict; use warnings; use lib 'scripts/lint'; use House;
my $blocks = 0;
for my $page (files(qr/\.md$/, 'docs'), grep { -e } qw(README.md CONTRIBUTING.md SECURITY.md)) {
  my $text = slurp($page);
  my $markers = () = $text =~ /<!-- example: /g;
  my $found = 0;
  while ($text =~ /<!-- example: (\S+) -->\s*\n```\w*\n(.*?)^```/msg) {
    my ($file, $block) = ($1, $2);
    ++$found; ++$blocks;
    if (!-e $file) { complain($page, "quotes $file, which does not exist"); next }
    my $source = slurp($file);
    s{^// SPDX[^\n]*\n}{} , s/^\n+// , s/\s+$// for $source, $block;
    complain($page, "the block differs from $file") unless $source eq $block;
  }
  complain($page, 'a marker is not followed by a code block') if $found != $markers;
}
for my $page (files(qr/\.md$/, 'docs'), grep { -e } qw(README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md)) {
  (my $folder = $page) =~ s{[^/]+$}{};
  my $text = slurp($page);
  $text =~ s/^```.*?^```//msg;
  while ($text =~ /\]\((?!https?:|#|mailto:)([^)\s#]+)/g) { complain($page, "a link leads nowhere: $1") unless -e "$folder$1" }
}
for my $page (files(qr/\.md$/, 'docs/algorithms')) {
  my ($opening) = slurp($page) =~ /\A# [^\n]+\n\n(.+?)(?:\n\n|\z)/s;
  my @sentences = split /(?<=[.?!])\s+(?=[A-Z`])/, $opening // '';
  complain($page, 'the first two sentences have no "Use it when"') unless grep { defined && /^Use\s+it\s+when\s/ } @sentences[0, 1];
}
my $index = 'docs/README.md';
if (-e $index) {
  my %named;
  my $text = slurp($index);
  $named{"docs/$1"} = 1 while $text =~ /\]\(([^)\s#]+)/g;
  for my $page (files(qr/\.md$/, 'docs')) { complain($index, "does not name $page") unless $named{$page} || $page eq $index }
}
complain('README.md', -s 'README.md', 'bytes, at most 6000') if -e 'README.md' && -s 'README.md' > 6000;
done($blocks);

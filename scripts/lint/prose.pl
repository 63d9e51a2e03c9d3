#!/usr/bin/perl
# Pages: no sentence of more than 35 words, no line of prose wider than 120 columns (table rows and addresses aside). The
# parts that a program printed are left out.
# Code: no line wider than 120 columns. Words are what holds a letter; inline code is one word.
use strict; use warnings; use utf8; use lib 'scripts/lint'; use House;
binmode STDOUT, ':utf8';
my ($most, $widest, $sentences) = (35, 120, 0);
sub text_of { my $text = slurp($_[0]); utf8::decode($text); return $text }
sub check_sentences {
  my ($at, $text) = @_;
  $text =~ s/`[^`]*`/Code/g;
  $text =~ s/!?\[([^\]]*)\]\([^)]*\)/$1/g;
  $text =~ s/\b(e\.g|i\.e|cf|vs|Fig|Tab|No)\./$1/g;
  for my $sentence (split /(?<=[.?!])[)"*_]*\s+(?=[(\["*_]*[\p{Lu}\p{N}`])/, $text) {
    my $words = grep { /\p{L}/ } split /[\s\/]+/, $sentence;
    ++$sentences;
    complain($at, "a sentence of $words words: " . substr($sentence, 0, 60) . '...') if $words > $most;
  }
}
my @pages = (files(qr/\.md$/, qw(docs apps models examples adapters)), grep { -e } qw(README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md));
for my $page (@pages) {
  my ($fence, $number, $begin, $paragraph) = (0, 0, 0, '');
  my $flush = sub { check_sentences("$page:$begin", $paragraph) if $paragraph =~ /\S/; $paragraph = '' };
  for my $line (split /\n/, typed(text_of($page))) {
    ++$number;
    if ($line =~ /^\s*```(\w*)/) { $flush->(); $fence = $fence ? 0 : $1 eq 'text' ? 'output' : $1 || 'none'; next }
    my $table = $line =~ /^\s*\|/;
    complain("$page:$number", length($line) . ' columns')
      if length($line) > $widest && !$table && $line !~ m{https?://} && $fence ne 'output';
    if ($fence || $line =~ /^ {4}/ && $paragraph eq '' || $line =~ /^<!--/) { $flush->(); next }
    if ($table) { $flush->(); check_sentences("$page:$number", $_) for split /(?<!\\)\|/, $line; next }
    if ($line =~ /^\s*$/) { $flush->(); next }
    $flush->() if $line =~ /^\s*([-*]|\d+\.)\s|^#/;
    $begin = $number if $paragraph eq '';
    $paragraph .= " $line";
    $flush->() if $line =~ /^#/;
  }
  $flush->();
}
my @sources = files(qr/\.(hpp|cuh|h|cpp|cu|def|cmake)$|CMakeLists\.txt$/,
  qw(include src tests examples apps models benchmarks adapters cmake));
for my $file (@sources) {
  my $number = 0;
  my $text = text_of($file);
  $text =~ s/R"(\w*)\((.*?)\)\1"/'""' . "\n" x ($2 =~ tr{\n}{})/gse;    # what a program prints
  for my $line (split /\n/, $text) {
    ++$number;
    complain("$file:$number", length($line) . ' columns')
      if length($line) > $widest && $line !~ m{https?://} && $line !~ /"[^"]{60,}"/;
  }
}
done($sentences);

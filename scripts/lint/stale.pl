#!/usr/bin/perl
# Pages name nothing that is gone: every word_with_underscore in their inline code is a word of the sources or the name of a file.
use strict; use warnings; use lib 'scripts/lint'; use House;
my %known = map { $_ => 1 } qw(edge_slowdown dead_ends);    # of an author's code; a page that is to come
my @sources = grep { -T && !/\.svg$/ && -s $_ < 1_000_000 }
  (files(qr/./, qw(include tests examples apps models benchmarks adapters cmake src scripts)), grep { -e } qw(run CMakeLists.txt CMakePresets.json));
for my $file (@sources) {
  $known{$_} = 1 for slurp($file) =~ /\b(\w*_\w*)\b/g;
  $known{$_} = 1 for $file =~ /(\w*_\w*)/g;
}
for my $block (block_files(qr/./)) { $known{$_} = 1 for slurp($block) =~ /\b(\w*_\w*)\b/g }
my $words = 0;
for my $page (files(qr/\.md$/, 'docs'), grep { -e } qw(README.md CONTRIBUTING.md)) {
  my $text = slurp($page);
  $text =~ s/^```.*?^```/my $gone = $&; "\n" x ($gone =~ tr{\n}{})/msge;
  my $number = 0;
  for my $line (split /\n/, $text) {
    ++$number;
    for my $code ($line =~ /`([^`]+)`/g) {
      for my $word ($code =~ /\b([a-z]\w*_\w+)\b/g) {
        ++$words;
        complain("$page:$number", "$word is nowhere in the sources") unless $known{$word} || $word =~ /_$/ || $word =~ /^(test|unit)_[a-z_]+$/;    # programs and tests of a build
      }
    }
  }
}
done($words);

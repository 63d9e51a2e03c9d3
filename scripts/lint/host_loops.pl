#!/usr/bin/perl
# One loop for a host: what a session asks for is chosen in host/drive.hpp, and in the tests named here, which need to see single
# outputs. Nothing but their own tests includes apps/. Apps, models, examples and benchmarks use the public headers alone.
use strict; use warnings; use lib 'scripts/lint'; use House;
my %single_outputs = map { $_ => 1 } 'docs/algorithms/output.md#output.cpp', qw(
  include/specverify/host/drive.hpp include/specverify/session/output.hpp
  tests/session/simulation.hpp tests/unit/session/pair.hpp
  tests/unit/session/cloud_test.cpp tests/unit/host/drive_test.cpp tests/unit/session/edge_test.cpp
  tests/unit/session/output_test.cpp tests/unit/session/semantic_test.cpp);
my $action = qr/(?:\w+::)*session_action::/;
my @files = (files(qr/\.(hpp|cuh|h|cpp|cu)$/, qw(include tests examples apps models benchmarks adapters)), block_files(qr/\.(hpp|cpp|inc)$/));
for my $file (@files) {
  my $text = slurp($file);
  my @code = split /\n/, code_of($text);
  my @lines = split /\n/, $text;
  for my $i (0 .. $#code) {
    my $at = "$file:" . ($i + 1);
    complain($at, 'chooses by session_action; use drive or take_outputs of host/drive.hpp')
      if !$single_outputs{$file} && $code[$i] =~ /\bcase\s+$action|[!=]=\s*$action(?:none|evaluate|score)\b|$action(?:none|evaluate|score)\s*[!=]=/;
    my $included = $lines[$i] =~ /^\s*#\s*include\s*[<"]([^>"]+)[>"]/ ? $1 : '';
    complain($at, "includes $included, which is an app's own")
      if $file !~ m{^(?:apps/|models/tinylm/report\.|tests/unit/apps/|tests/demo/|tests/fuzz/(?:frame|key_challenge|rows_file)_)} && $included =~ m{(?:^|/)(?:apps|edge_cloud|lab)/};
    next unless $file =~ m{^(?:apps|models|examples|benchmarks|adapters|docs)/|^README};
    complain($at, "includes $included, which is no public header") if $included =~ m{^specverify/.*\bdetail/};
    complain($at, 'uses a detail of the library')
      if $code[$i] =~ /\b(?:specverify|sv)::detail\b/ || ($text !~ /namespace (?:lab|edge_cloud|tinylm)\b/ && $code[$i] =~ /(?<![\w:])detail::/);
  }
}
# Pages show the loop as a compiled example.
for my $page (files(qr/\.md$/, 'docs'), grep { -e } qw(README.md CONTRIBUTING.md)) {
  my $number = 0;
  for my $line (split /\n/, slurp($page)) {
    ++$number;
    complain("$page:$number", 'chooses by session_action; quote an example') if $line =~ /\bcase\s+$action/;
  }
}
done(scalar @files);

#!/usr/bin/perl
# A public header brings its unit test, its page with an example, and a benchmark if it reads rows.
use strict; use warnings; use lib 'scripts/lint'; use House;
my @files = grep { !m{/(kernel|detail|device|cuda)/} && m{^include/specverify/[^/]+/} } files(qr/\.hpp$/, 'include/specverify');
for my $file (@files) {
  my ($path) = $file =~ m{^include/specverify/(.*)\.hpp$};
  my ($name) = $path =~ m{([^/]+)$};
  my $text = slurp($file);
  complain($file, "no tests/unit/${path}_test.cpp") unless -e "tests/unit/${path}_test.cpp";
  # The page carries the header's name, or is the one that its See: line names (several small headers may share a page).
  my $page = "docs/algorithms/$name.md";
  $page = $1 if !-e $page && $text =~ m{See:[^\n]*?(docs/algorithms/\w+\.md)};
  if (!-e $page) { complain($file, "no page $page") }
  elsif (!(grep { $_->{language} eq 'cpp' } blocks($page)) && slurp($page) !~ /^Code: /m) { complain($page, 'has no example') }
  my $wide = $path =~ m{^(row|sparsify|quantize|verify)/} && code_of($text) =~ /execution_policy\s+\w+/;
  complain($file, "reads rows and has no benchmarks/bench_$name.cpp") if $wide && !-e "benchmarks/bench_$name.cpp";
  while ($text =~ m{\b((?:docs|tests|examples|apps|models|benchmarks)/[\w/.-]+\.(?:md|cpp|hpp))}g) {
    complain($file, "names $1, which does not exist") unless -e $1 || $1 eq $page || $1 eq "tests/unit/${path}_test.cpp";
  }
}
done(scalar @files);

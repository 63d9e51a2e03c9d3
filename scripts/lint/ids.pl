#!/usr/bin/perl
# Every id of a requirement (COR-1), an erratum (E1) or a conformance test (T1) must have an entry.
use strict; use warnings; use lib 'scripts/lint'; use House;
my $requirement = qr/(?:COR|NUM|VOC|SMP|DET|PRF|NET|PKG|OBS)-\d+/;
my $id = qr/(?<![\w.\/+-])($requirement|[ET]\d{1,2})(?![\w\/])/;
my %page = (errata => 'docs/errata.md', requirements => 'docs/requirements.md', guarantees => 'docs/guarantees.md');
my %text = map { $_ => -e $page{$_} ? slurp($page{$_}) : '' } keys %page;
my %entry;
$entry{$1} = 1 while $text{errata} =~ /^## (E\d+) /mg;
$entry{$1} = 1 while $text{requirements} =~ /^\| ($requirement) \|/mg;
$entry{$1} = 1 while $text{guarantees} =~ /^\| (T\d+) \|/mg;
my @files = grep { -T && !/\.(svg|csv|txt)$/ && !m{^tests/fuzz/corpus/|^tests/lint/|^scripts/lint/ids\.pl$} }
  (files(qr/./, qw(include src tests examples apps models benchmarks adapters docs scripts)), grep { -e } qw(README.md CONTRIBUTING.md CHANGELOG.md));
for my $file (@files) {
  my $number = 0;
  for my $line (split /\n/, slurp($file)) {
    ++$number;
    while ($line =~ /$id/g) {
      my $name = $1;
      complain("$file:$number", "$name has no entry in " . $page{$name =~ /-/ ? 'requirements' : $name =~ /^E/ ? 'errata' : 'guarantees'})
        unless $entry{$name};
    }
  }
}
# Each erratum must link its tests, and each of these tests must contain the id.
while ($text{errata} =~ /^## (E\d+) (.*?)(?=^## |\z)/msg) {
  my ($name, $body) = ($1, $2);
  my @tests = $body =~ m{\]\(\.\./(tests/[^)\s#]+)\)}g;
  complain($page{errata}, "$name names no test") unless @tests;
  for my $test (@tests) { complain($page{errata}, "$test does not hold $name") unless -e $test && slurp($test) =~ /\b$name\b/ }
}
done(scalar keys %entry);

#!/usr/bin/perl
# Files that a reader takes in at one go: a program in a page 34 lines, quickstart 65, custom_parts 60, kept_journal 72, run 150,
# CONTRIBUTING 60. Sources have no limit, because it cuts classes into wrappers; functions.pl limits functions.
use strict; use warnings; use lib 'scripts/lint'; use House;
my %limit;
$limit{'examples/quickstart.cpp'} = 65;
$limit{'examples/custom_parts.cpp'} = 60;
$limit{'examples/kept_journal.cpp'} = 72;
$limit{'run'} = 150;
$limit{'CONTRIBUTING.md'} = 60;
for my $file (sort keys %limit) {
  next unless -e $file;
  my $lines = () = slurp($file) =~ /\n/g;
  complain($file, "$lines lines, at most $limit{$file}") if $lines > $limit{$file};
}
for my $page (files(qr/\.md$/, 'docs')) {
  for my $block (grep { $_->{program} } blocks($page)) {
    my $lines = $block->{text} =~ tr/\n//;
    complain("$page:$block->{line}", "$block->{name} has $lines lines, at most 34") if $lines > 34;
  }
}
done(scalar keys %limit);

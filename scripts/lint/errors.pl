#!/usr/bin/perl
# docs/errors.md must list every code of core/errc.def by group, with number, name and sentence. `--fix` writes these three
# columns. The last column, the meaning of `where`, is written by hand, and `--fix` keeps it.
use strict; use warnings; use lib 'scripts/lint'; use House;
my ($list, $page, $mark) = ('include/specverify/core/errc.def', 'docs/errors.md', "<!-- table: core/errc.def -->\n");
done(0) unless -e $list;
my $text = -e $page ? slurp($page) : '';
my ($head, $old) = split /\Q$mark\E/, $text, 2;
($head, $old) = map { defined $_ ? $_ : '' } $head, $old;
my (%where, $codes);
$where{$1} = $2 while $old =~ /^\| \d+ \| `(\w+)` \|[^|\n]*\| ?([^|\n]*?) ?\|$/mg;
my $columns = "| number | name | sentence | `where` |\n|---|---|---|---|\n";
my $new = "\n$columns";
my $source = slurp($list);
$source =~ s/"\s*\n\s*"//g;    # a sentence on two lines
while ($source =~ /^SPECVERIFY_ERRC\((\w+),\s*(\d+),\s*"([^"]*)"\)|^\/\/ ([a-z ]+)$/mg) {
  if (defined $4) { $new .= "\n## \u$4\n\n$columns"; next }
  ++$codes;
  $new .= "| $2 | `$1` | $3 |" . (length($where{$1} // '') ? " $where{$1} |\n" : " |\n");
}
if (@ARGV && $ARGV[0] eq '--fix') {
  open my $out, '>', $page or die "$page: cannot write\n";
  print $out "$head$mark$new";
} elsif ($old ne $new) {
  my %had = map { $_ => 1 } split /\n/, $old;
  my %has = map { $_ => 1 } split /\n/, $new;
  complain($page, "not in core/errc.def: $_") for grep { /^\|/ && !$has{$_} } split /\n/, $old;
  complain($page, "missing: $_") for grep { /^\|/ && !$had{$_} } split /\n/, $new;
  complain($page, 'differs from core/errc.def: perl scripts/lint/errors.pl --fix');
}
done($codes);

#!/usr/bin/perl
# Limits how often a few words occur per 1 000 words, because prose with an accent uses "what" and "where" too often, and "if",
# "because" and "can" too rarely. Each folder of include/specverify and of docs must keep the limits, and so must src, adapters,
# apps, benchmarks and the pages of the root. Inline code, code blocks, addresses and lines of tables without words do not count.
# The first line of a header and the help of an option must not begin with of, that, until, how, what, where or which. A cell of
# a table has at most 100 characters. usage: english.pl [FILE or FOLDER...] prints the rates of these files and their breaches.
use strict; use warnings; use utf8; use lib 'scripts/lint'; use House;
binmode STDOUT, ':utf8';
my @rules = (    # name, pattern, bound, limit per 1 000 words
  ['where', qr/\bwhere\b/i, 'at most', 2.5],
  ['what', qr/\bwhat\b/i, 'at most', 2],
  ['if', qr/\bif\b/i, 'at least', 3],
  ['its, their', qr/\b(its|their)\b/i, 'at most', 4],
  ['because, since, but, however, for example', qr/\b(because|since|but|however|for\s+example)\b/i, 'at least', 4],
  ['can, may, should, must, returns', qr/\b(can|cannot|may|should|must|returns?)\b/i, 'at least', 9],
);
my ($fewest, $widest) = (500, 100);    # words that a folder needs for a rate; characters of a cell
my $opening = qr/^(of|that|until|how|what|where|which)\b/i;
my %allowed = ();    # folder => {rule => rate}: limits of folders that do not keep the general limit yet
my %long_cells = ('docs/errors.md' => qr/^no method has this name;/);    # an error's sentence, which lists all names
sub text_of { my $text = slurp($_[0]); utf8::decode($text); return $text }
my %wide;    # file => complaints about its cells and openings

# Returns the comments of a source, and checks the first line of a header.
sub comments_of {
  my ($file, $text) = @_;
  my @comments;
  while ($text =~ m{//([^\n]*)|/\*(.*?)\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'}gs) {
    push @comments, $1 // $2 if defined($1 // $2);
  }
  s/^[!\/]?<?\s*//, s/^\s*\*//mg for @comments;
  my $prose = join "\n", grep { !/SPDX-License/ } @comments;
  if ($file =~ /\.(hpp|cuh|h)$/ && $text =~ m{^//! *(\S.*)}m) {
    my $first = $1;
    push @{$wide{$file}}, "the first line begins with \"$1\"" if $first =~ $opening;
  }
  return $prose;
}
# Checks the help strings of CLI11's options: the last argument that consists of string literals.
sub check_help {
  my ($file, $text) = @_;
  while ($text =~ /\badd_(?:option|flag|subcommand)\w*(\((?:[^()"]|"(?:\\.|[^"\\])*"|(?1))*\))/g) {
    my @strings = $1 =~ /,\s*((?:"(?:\\.|[^"\\])*"\s*)+)(?=[,)])/g or next;
    (my $help = $strings[-1]) =~ s/"\s*"//g;
    $help =~ s/^"|"\s*$//g;
    push @{$wide{$file}}, "the help \"$help\" begins with \"$1\"" if $help =~ $opening;
  }
}
sub prose_of_page {
  my ($file, $text) = @_;
  $text = typed($text);
  $text =~ s/^```.*?^```[^\n]*//msg;
  $text =~ s/<!--.*?-->//sg;
  $text =~ s/!?\[([^\]]*)\]\([^)]*\)/$1/g;
  $text =~ s{https?://\S+}{}g;
  for my $line (grep { /^\s*\|/ } split /\n/, $text) {
    next if $line =~ /^[\s|:-]+$/;
    for my $cell (split /(?<!\\)\|/, $line) {
      $cell =~ s/^\s+|\s+$|`|\*\*//g;
      next if $long_cells{$file} && $cell =~ $long_cells{$file};
      push @{$wide{$file}}, 'a cell of ' . length($cell) . ' characters: ' . substr($cell, 0, 50) . '...' if length $cell > $widest;
    }
  }
  $text =~ s/^\s*\|[\s|:-]+\|\s*$//mg;
  return $text;
}
sub prose_of {
  my ($file) = @_;
  my $text = text_of($file);
  my $prose = $file =~ /\.md$/ ? prose_of_page($file, $text) : comments_of($file, $text);
  check_help($file, $text) if $file =~ /^apps\/.*pp$/;
  $prose =~ s/``.*?``|`[^`]*`/ /gs;
  return $prose;
}
sub rates_of {
  my $prose = join "\n", map { prose_of($_) } @_;
  my $words = grep { /\p{L}/ } split /[\s\/|]+/, $prose;
  return ($words, map { my $count = () = $prose =~ /$_->[1]/g; sprintf '%.1f', $words ? 1000 * $count / $words : 0 } @rules);
}
my $named = qr/\.(md|hpp|cuh|h|cpp|cu|def)$/;
if (@ARGV) {
  for my $name (map { s{/+$}{}r } @ARGV) {
    my @files = -d $name ? files($named, $name) : $name;
    %wide = ();
    my ($words, @rates) = rates_of(@files);
    print "$name: $words words\n";
    for my $i (0 .. $#rules) {
      my ($rule, undef, $bound, $limit) = @{$rules[$i]};
      my $breach = $bound eq 'at most' ? $rates[$i] > $limit : $rates[$i] < $limit;
      printf "  %5.1f  %s (%s %s)%s\n", $rates[$i], $rule, $bound, $limit, $breach ? '  <--' : '';
    }
    for my $file (sort keys %wide) { print "  $file: $_\n" for @{$wide{$file}} }
  }
  exit 0;
}
# A folder of include/specverify includes its subfolders, but a folder of docs does not. The pages of the root are one folder.
my %folders;
for my $file (files(qr/\.(hpp|cuh|h|def)$/, 'include/specverify')) {
  my ($folder) = $file =~ m{^(include/specverify(?:/[^/]+(?=/))?)};
  push @{$folders{$folder}}, $file;
}
push @{$folders{$_}}, files(qr/\.(hpp|cuh|h|cpp|cu|def)$/, $_) for qw(src adapters apps benchmarks);
for my $page (files(qr/\.md$/, 'docs')) { my ($folder) = $page =~ m{^(.*)/}; push @{$folders{$folder}}, $page }
push @{$folders{'README'}}, grep { -e } qw(README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md);
my $checked = 0;
for my $folder (sort keys %folders) {
  my ($words, @rates) = rates_of(@{$folders{$folder}});
  ++$checked;
  next if $words < $fewest;
  for my $i (0 .. $#rules) {
    my ($rule, undef, $bound, $limit) = @{$rules[$i]};
    $limit = $allowed{$folder}{$rule} // $limit;
    complain($folder, "\"$rule\" $rates[$i] per 1 000 words, $bound $limit")
      if $bound eq 'at most' ? $rates[$i] > $limit : $rates[$i] < $limit;
  }
}
for my $file (sort keys %wide) { complain($file, $_) for @{$wide{$file}} }
done($checked);

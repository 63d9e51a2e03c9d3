#!/usr/bin/perl
# Every fenced block of a page is `text` (output), a diagram, a program in C++ that the build compiles and runs, or has a name by
# which a test or another block uses it (scripts/pages). An indented block holds no code. Links lead somewhere, the index
# docs/README.md names every page, the first or second sentence of a page of algorithms begins with "Use it when", and the first
# screen has at most 6000 bytes.
use strict; use warnings; use lib 'scripts/lint'; use House;
my (%named, @blocks);
for my $page (pages()) {
  for my $block (blocks($page)) {
    my ($language, $name, $at) = ($block->{language}, $block->{name}, "$page:" . ($block->{line} - 1));
    push @blocks, $block;
    if ($block->{more} ne '') { complain($at, "the fence has more than a language and a name: $block->{more}") }
    elsif ($language eq '') { complain($at, 'a fence without a mark: output is ```text') }
    elsif ($language =~ /^(text|mermaid)$/) { complain($at, "$language has no name") if defined $name }
    elsif ($language !~ /^(cpp|c|cmake|sh|python)$/) { complain($at, "$language is neither text nor compiled nor run") }
    elsif (!defined $name) { complain($at, "a block in $language needs a name, by which a test uses it") }
    elsif ($named{$name}++) { complain($at, "$name is the name of another block, too") }
    else { $block->{at} = $at }
  }
  my ($fence, $number) = (0, 0);
  for my $line (split /\n/, slurp($page)) {
    ++$number;
    $fence = !$fence if $line =~ /^```/;
    complain("$page:$number", 'code in an indented block; use a fence')
      if !$fence && $line =~ /^ {4}(?:\S[^|]*[;{]$|(?:find_package|target_\w+|add_\w+|import|def) ?\(?|#include)/;
  }
  complain($page, 'the last fence does not end') if $fence;
}
# A block that is no program is used by its name or by its folder's (pages/FOLDER), or by another block of its folder.
my $users = join "\n", map { slurp($_) } grep { !m{^tests/(fuzz/corpus|lint)/} } files(qr/\.(cpp|hpp|inc|cu|c|h|sh|py|txt)$|^scripts\/[^.]*$/, qw(tests examples apps scripts));
for my $block (grep { defined $_->{at} && !$_->{program} } @blocks) {
  my ($folder, $file) = $block->{name} =~ m{^(?:(.*)/|)([^/]+)$};
  my $used = defined $folder ? qr/\Q$block->{name}\E|\Q$folder\E["\/]/ : qr/\Q$file\E/;
  next if $users =~ /(?<![\w.\/])\Q$block->{name}\E\b/ || $users =~ /pages[^\s\/]*\/(?:$used)/i;
  $folder = defined $folder ? "$folder/" : '';
  next if grep { defined $_->{name} && $_ != $block && $_->{name} =~ /^\Q$folder\E[^\/]+$/ && $_->{text} =~ /"\Q$file\E"/ } @blocks;
  complain($block->{at}, "nothing uses $block->{name}");
}
# The headings of a page, as a link names them.
my %headings;
sub headings {
  my ($page) = @_;
  $headings{$page} //= do {
    (my $text = slurp($page)) =~ s/^```.*?^```//msg;
    my %seen;
    for my $heading ($text =~ /^#{1,6} +(.+?) *$/mg) {
      (my $slug = lc $heading) =~ s/\[([^\]]*)\]\([^)]*\)/$1/g;
      $slug =~ s/[^\w\- \x80-\xff]//g;
      $slug =~ tr/ /-/;
      $seen{$slug} = 1;
    }
    \%seen;
  };
}
for my $page (files(qr/\.md$/, 'docs'), grep { -e } qw(README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md)) {
  (my $folder = $page) =~ s{[^/]+$}{};
  my $text = slurp($page);
  $text =~ s/^```.*?^```//msg;
  while ($text =~ /\]\((?!https?:|#|mailto:)([^)\s#]+)/g) { complain($page, "a link leads nowhere: $1") unless -e "$folder$1" }
  while ($text =~ /\]\((?!https?:)([^)\s#]*)#([^)\s]+)\)/g) {
    my ($file, $heading) = ($1, $2);
    my $to = $file eq '' ? $page : "$folder$file";
    next if $to !~ /\.md$/ || !-e $to || headings($to)->{$heading};
    complain($page, "a link leads to no heading: $file#$heading");
  }
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
done(scalar @blocks);

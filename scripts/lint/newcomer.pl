#!/usr/bin/perl
# A newcomer's programs in tests/newcomer/ use nothing of the library that README, tutorial and pages do not show: in a block of
# code, a file that a page gives as its code, or a `span`. Checked are included headers, names behind `sv::`, members, and calls by name.
use strict; use warnings; use lib 'scripts/lint'; use House;
my ($longest, %shown, %headers, %library) = (60);
for my $page (files(qr/\.md$/, 'docs'), grep { -e } 'README.md') {
  my $text = slurp($page);
  $text =~ s{^```(\w*)[^\n]*\n(.*?)^```}{show($1 eq 'cpp' ? code_of($2) : $2, $2); ''}msge;
  (my $folder = $page) =~ s{[^/]+$}{};
  for my $code (map { slurp("$folder$_") } $text =~ m{^Code: \[[^\]]+\]\(([^)]+\.[hc]pp)\)}mg) { show(code_of($code), $code) }
  show($1, $1) while $text =~ /`([^`\n]+)`/g;
  show($1, $1) while $text =~ /^ {4}(\S.*)$/mg;
}
sub show {
  my ($code, $text) = @_;
  $shown{$_} = 1 for $code =~ /\b([a-z_]\w*)\b/gi;
  $headers{$_} = 1 for $text =~ m{\b(specverify/[\w/]+\.hpp)}g;
}
# What a member or a call may belong to: every name in the library's code that std and the language do not have as well.
for my $file (files(qr/\.hpp$/, 'include')) {
  $library{$_} = 1 for code_of(slurp($file)) =~ /(?<!std::)\b([a-z_]\w*)\b/gi;
}
delete @library{qw(assign at back begin clear count data emplace empty end erase fetch_add find first front get insert join
  last length load lock max min move notify_all notify_one pop_front push_back resize reserve size store str subspan swap
  value wait alignas auto catch decltype for if noexcept operator return sizeof static_assert switch while)};
my @programs = files(qr/\.(cpp|hpp)$/, 'tests/newcomer');
for my $file (@programs) {
  my $text = slurp($file);
  my @code = split /\n/, code_of($text);
  my @lines = split /\n/, $text;
  complain($file, scalar @lines, "lines, at most $longest") if @lines > $longest;
  my $all = join "\n", @code;
  my ($alias) = $all =~ /\bnamespace\s+(\w+)\s*=\s*specverify\s*;/;
  my $space = $alias ? qr/(?:specverify|\Q$alias\E)/ : qr/specverify/;
  # What the program declares itself: types, functions and members with a type before them, variables.
  my %own = map { $_ => 1 } $all =~ /\b(?:struct|class|using|namespace)\s+(\w+)/g,
    $all =~ /(?:[\w>&*\]]\s+|[&*]\s*|,\s*)(?<!return )(\w+)\s*(?=[;={\[(,)])/g;
  for my $i (0 .. $#code) {
    my $at = "$file:" . ($i + 1);
    if ($lines[$i] =~ /^\s*#\s*include\s*[<"](specverify\/[^>"]+)[>"]/) {
      complain($at, "no page shows the header $1") unless $headers{$1};
      next;
    }
    complain($at, 'names of the library stand behind specverify:: here') if $code[$i] =~ /\busing\s+(?:namespace\s+)?$space\b/;
    my %used;
    while ($code[$i] =~ /(?<![\w:])$space((?:::\w+)+)/g) { $used{$_} = 1 for $1 =~ /(\w+)/g }
    while ($code[$i] =~ /(?:\.|->)\s*(?:template\s+)?([a-z_]\w*)/gi) { $used{$1} = 1 if $library{$1} }
    while ($code[$i] =~ /(?<![\w:.>])([a-z_]\w*)\s*\(/gi) { $used{$1} = 1 if $library{$1} && !$own{$1} }
    complain($at, "no page shows $_") for grep { !$shown{$_} } sort keys %used;
  }
}
done(scalar @programs);

#!/usr/bin/perl
# Headers must compile after the macros of Qt, Unreal, Windows, macOS, X11, ncurses, Arduino and Python. Therefore no name of
# ours may be in tests/support/foreign_macros.hpp, unless core/foreign_macros_off.def turns the macro off. A macro with
# parameters matters only before a parenthesis.
use strict; use warnings; use lib 'scripts/lint'; use House;
my ($list, $off, $on) = ('tests/support/foreign_macros.hpp', map { "include/specverify/core/foreign_macros_$_.def" } qw(off on));
my ($begin, $end) = map { s{^include/}{}r } $off, $on;
my $defined = slurp($list);
my (@plain, @called);
push @{$2 ? \@called : \@plain}, $1 while $defined =~ /^#define (?!SPECVERIFY_)(\w+)(\()?/mg;
my ($plain, $called) = map { my $words = join '|', @$_; qr/\b($words)\b/ } \@plain, \@called;
my ($set_aside, $gone) = map { [slurp($off) =~ /$_/mg] } qr/push_macro\("(\w+)"\)/, qr/^#undef (\w+)/m;
my $given_back = [slurp($on) =~ /pop_macro\("(\w+)"\)/g];
complain($on, 'gives back other words than foreign_macros_off.def sets aside') if "@$set_aside" ne "@$given_back" || "@$set_aside" ne "@$gone";
my %is_aside = map { $_ => 1 } @$set_aside;
my @files = files(qr/\.(hpp|cuh|h|def)$/, 'include', 'adapters');
for my $file (@files) {
  next if $file eq $off || $file eq $on;
  my $text = slurp($file);
  my $code = code_of($text);
  my ($number, $is_guarded, $uses) = (0, 0, 0);
  my ($guards, $ends) = map { my $it = $_; scalar(() = $text =~ /^#include <\Q$it\E>$/mg) } $begin, $end;
  my $guarded = $guards == 1 && $ends == 1;
  for my $line (split /\n/, $code) {
    ++$number;
    if ($line =~ /^\s*#\s*include\s*<(\S+)>/) { $is_guarded = 1 if $1 eq $begin; $is_guarded = 0 if $1 eq $end; next }
    my @words = $line =~ /$plain/g;
    push @words, $1 while $line =~ /$called\s*\(/g;
    for my $word (@words) {
      ++$uses if $is_aside{$word};
      next if $is_guarded && $is_aside{$word};
      complain("$file:$number", $is_aside{$word} ? "$word is a macro elsewhere: include <$begin> and <$end> around the code"
        : "$word is a macro elsewhere; use another name");
    }
  }
  complain($file, "includes <$begin> and <$end> once each, in this order") if $guards + $ends && (!$guarded || $is_guarded);
  complain($file, "sets macros aside, and needs none of those words") if $guarded && !$uses;
}
done(scalar @files);

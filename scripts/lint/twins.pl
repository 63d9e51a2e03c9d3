#!/usr/bin/perl
# Each mutant must still apply (scripts/twins describes the form): the headers exist, each old text is in them exactly once, a
# test has the given name, and no two mutants have the same name.
use strict; use warnings; use lib 'scripts/lint'; use House;
my ($count, %seen) = (0);
for my $file (files(qr/\.bug$/, 'tests')) {
  (my $source = $file) =~ s/\.bug$/.cpp/;
  if (!-e $source) { complain($file, "there is no $source"); next }
  my ($before, @sections) = split /^=== /m, slurp($file);
  complain($file, 'text before its first section') if $before =~ /\S/;
  my $tests = slurp($source);
  $tests =~ s/"\s*\n\s*"//g;    # names on two lines
  for my $section (@sections) {
    my ($head, @blocks) = split /^--- old\n/m, $section;
    my ($name) = $head =~ /^(\w+)$/m or do { complain($file, 'a section without a name'); next };
    my $bug = "$file:$name";
    ++$count;
    complain($bug, "$seen{$name} has a twin of this name") if $seen{$name};
    $seen{$name} = $file;
    my %field = $head =~ /^(\w+): *(.*?)\s*$/mg;
    my @headers = $head =~ /^header: *(.*?)\s*$/mg;
    my @gone = grep { !-e } @headers;
    complain($bug, "not there", $_) for @gone;
    complain($bug, 'no header') unless @headers;
    complain($bug, 'no block') unless @blocks;
    next if @gone || !@headers;
    my $code = join "\0", map { slurp($_) } @headers;
    for my $block (@blocks) {
      my ($old, $new) = split /^--- new\n/m, $block, 2;
      my $found = () = $code =~ /\Q$old\E/g;
      complain($bug, "the old text is found $found times in @headers, must be once") unless $found == 1;
      substr($code, index($code, $old), length $old) = $new if $found == 1 && defined $new;
    }
    (my $pattern = quotemeta($field{test} || '')) =~ s/\\\*/.*/g;
    complain($bug, "no test of $source is named $field{test}") unless $tests =~ /TEST_CASE\w*\(\s*"$pattern"/;
  }
}
done($count);

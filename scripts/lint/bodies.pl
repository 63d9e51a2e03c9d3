#!/usr/bin/perl
# In a class of session/, a comment before each group of declarations must name the file that defines these functions, for
# example `// edge_round.hpp: ...`.
use strict; use warnings; use lib 'scripts/lint'; use House;
my $checked = 0;
my %text = map { m{([^/]+)$} ? ($1 => slurp($_)) : () } files(qr/\.hpp$/, 'include/specverify/session');
for my $header (sort keys %text) {
  while ($text{$header} =~ /\nclass (\w+) : public detail::endpoint \{\n(.*?)\n\};/sg) {
    my ($class, $body) = ($1, $2);
    my $file;
    for my $line (split /\n/, $body) {
      if ($line =~ m{^  // (\w+\.hpp)\b}) { $file = $1; next }
      next unless $file && $line =~ /^  (?:\[\[nodiscard\]\] )?[\w:<>&* ]+?\b(\w+)\([^{]*$/;
      my $name = $1;
      my @in = grep { $text{$_} =~ /\b$class\:\:$name\(/ } sort keys %text;
      ++$checked;
      complain("include/specverify/session/$header", "$name is said to be in $file, and is in @in")
        if @in && !grep { $_ eq $file } @in;
    }
  }
}
done($checked);

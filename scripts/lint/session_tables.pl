#!/usr/bin/perl
# Tables of sessions must match the headers. docs/algorithms/options.md must list the fields of edge_options, cloud_options and
# cloud_limits with defaults, one line per option, and the number of each at_...; docs/algorithms/presets.md must have one line
# per preset, and docs/errors.md one line per error of the groups `session` and `keys` in core/errc.def, in order.
use strict; use warnings; use lib 'scripts/lint'; use House;
my ($options, $presets, $codes) = map { "include/specverify/$_" } qw(session/options.hpp session/presets.hpp core/errc.def);
my ($fields_page, $presets_page, $errors_page) = qw(docs/algorithms/options.md docs/algorithms/presets.md docs/errors.md);
done(0) unless -e $options;
my $checked = 0;

# Returns [name, default] of each data member of a struct, in order.
sub fields {
  my ($struct) = @_;
  my ($body) = slurp($options) =~ /\nstruct \Q$struct\E \{\n(.*?)\n\};/s or die "$options: no struct $struct\n";
  $body =~ s{//[^\n]*}{}g;
  my @found;
  for my $part (split /;/, $body) {
    next if $part =~ /^\s*(static|friend)\b/;
    push @found, [$1, defined $2 ? $2 : ''] if $part =~ /(\w+)\s*(?:=\s*(.*?)|\{\})\s*$/s;
  }
  return @found;
}

# Returns the lines of the first table after a mark, as [cells], without the head.
sub table {
  my ($file, $mark) = @_;
  my ($lines) = slurp($file) =~ /\Q$mark\E\n+\|[^\n]*\n\|[-|]+\n((?:\|[^\n]*\n)+)/s;
  complain($file, "no table behind `$mark`") unless $lines;
  return map { s/^\| ?| ?\|$//gr } split /\n/, $lines // '';
}
sub cells { return split / ?\| ?/, $_[0] }
sub name_of { my ($first) = cells($_[0]); return $first =~ s/`//gr }

# Returns [name, number] of each at_... in the body of a struct.
sub pairs {
  my ($body) = @_;
  my @found;
  push @found, [$1, $2] while $body =~ /(at_\w+) = (\d+);/g;
  return @found;
}

# Compares names in order; `$any_order`: the table may have another order.
sub compare {
  my ($file, $of, $wanted, $found, $any_order) = @_;
  my %wanted = map { $_ => 1 } @$wanted;
  my %found = map { $_ => 1 } @$found;
  $checked += @$wanted;
  complain($file, "$_: missing in the table of $of") for grep { !$found{$_} } @$wanted;
  complain($file, "$_: not in $of") for grep { !$wanted{$_} } @$found;
  complain($file, "the table of $of has a name twice") if keys %found != @$found;
  complain($file, "the table of $of has another order") if !$any_order && "@$wanted" ne "@$found" && keys %wanted == keys %found;
}

# Returns a default in the form of the page. The page describes defaults that are not a number or a name.
sub default_of {
  my ($value) = @_;
  return $1 if $value =~ /^(?:\w+::)+(\w+)$/;
  return 2**$1 if $value =~ /^1u << (\d+)$/;
  return $value;
}
for my $of (['edge_options', $fields_page, '## edge_options', 2], ['cloud_options', $fields_page, '## cloud_options', 2],
            ['cloud_limits', $fields_page, '<!-- table: cloud_limits of session/options.hpp -->', 2]) {
  my ($struct, $file, $mark, $column) = @$of;
  my @fields = fields($struct);
  my @lines = table($file, $mark);
  compare($file, $struct, [map { $_->[0] } @fields], [map { name_of($_) } @lines], 0);
  my %said = map { name_of($_) => (cells($_))[$column] } @lines;
  for (@fields) {
    my ($name, $default) = ($_->[0], default_of($_->[1]));
    next if $default eq '' || !defined $said{$name};
    complain($file, "${struct}::$name: default is $default, the table says $said{$name}") if $said{$name} =~ s/`//gr ne $default;
  }
}

my (%seen, @all);
for (map { fields($_) } qw(edge_options cloud_options)) { push @all, $_->[0] unless $seen{$_->[0]}++ }
compare($fields_page, 'session/options.hpp', \@all, [map { name_of($_) } table($fields_page, '<!-- table: session/options.hpp -->')], 1);

my @lines = table($fields_page, '<!-- table: numbers of session/options.hpp -->');
for my $of (['edge_options', 1], ['cloud_options', 2]) {
  my ($struct, $column) = @$of;
  my ($body) = slurp($options) =~ /\nstruct \Q$struct\E \{\n(.*?)\n\};/s;
  my @numbers = map { "$_->[1] $_->[0]" } pairs($body);
  my @said = grep { / at_/ } map { ((cells($_))[0] . ' ' . ((cells($_))[$column] // '')) =~ s/`//gr } @lines;
  compare($fields_page, "the numbers of $struct", \@numbers, \@said, 0);
}

my (%systems, @systems);
my $text = slurp($presets);
while ($text =~ /constexpr preset<[^\n]*>\s+(\w+)\(/g) { push @systems, $1 unless $systems{$1}++ }
compare($presets_page, 'session/presets.hpp', [grep { !/^(gated_hlm|with_window)$/ } @systems],
        [map { name_of($_) } table($presets_page, '<!-- table: session/presets.hpp -->')], 1);

# docs/algorithms/systems.md must list each system with its settings, in order. A function may show a setting.
my $list = slurp('include/specverify/session/detail/system_list.hpp');
my $systems_page = 'docs/algorithms/systems.md';
sub settings_in {
  my ($body) = @_;
  my @names;
  while ($body =~ /\bvisit\("(\w+)"|\b(visit_\w+)\(/g) {
    if (defined $1) { push @names, $1; next }
    my ($inner) = $list =~ /constexpr void \Q$2\E\((.*?)\n\}/s;
    push @names, settings_in($inner =~ s/^[^{]*\{//r);
  }
  return @names;
}
my ($order) = $list =~ /system_list<\s*(\w+_system,.*?)>;/s;
my (@named, %settings);
for my $type ($order =~ /(\w+_system)/g) {
  my ($body) = $list =~ /\nstruct \Q$type\E \{\n(.*?)\n\};/s or complain($list, "no struct $type");
  my ($name) = $body =~ /name = "([^"]+)"/;
  push @named, $name;
  $settings{$name} = join ', ', map { "`$_`" } settings_in($body);
}
my @rows = table($systems_page, '<!-- table: session/systems.hpp -->');
compare($systems_page, 'session/systems.hpp', \@named, [map { name_of($_) } @rows], 0);
for (@rows) {
  my ($name, $said) = (name_of($_), (cells($_))[1]);
  my $wanted = $settings{$name} || 'none';
  complain($systems_page, "$name: the settings are $wanted, the table says $said") if $said ne $wanted;
}

my (@errors, $group);
for (split /\n/, slurp($codes)) {
  $group = $1 if m{^// ([a-z ]+)$};
  next unless defined $group && ($group eq 'session' || $group eq 'keys');
  push @errors, $1 if /^SPECVERIFY_ERRC\((\w+),/;
}
compare($errors_page, 'core/errc.def', \@errors, [map { name_of($_) } table($errors_page, '<!-- table: core/errc.def, session and keys -->')], 0);
done($checked);

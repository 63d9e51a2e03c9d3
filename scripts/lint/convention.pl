#!/usr/bin/perl
# Conventions for functions. A public function returns new values instead of writing them through parameters, except for a
# workspace and the types below. In all headers a workspace must be the last parameter and be named `scratch`, a digest must
# be named `digest`, and a status that reports a failure must be named `why`.
use strict; use warnings; use lib 'scripts/lint'; use House;
# Types that a function may change, because the caller continues to use the object.
my %state = map { $_ => 1 } (
  'workspace',                                                    # scratch
  qw(Session Model Link Clock OnOutput Environment dqn_trainer),  # objects of a host, and functions that run them
  qw(range_encoder range_decoder header_reader header_writer),                  # streams of bytes that are being written or read
  qw(received_draft_block),                                       # preallocated memory, filled like a span
  qw(observation mismatch_means session_statistics offline_calibration Statistics window_progress round state_type),  # accumulated state
  qw(message_pipe uniform_script link_end),                       # shared by two ends of a link, or by two sources
);
# FILE:FUNCTION => reason.
my %exception = (
  'core/numeric.hpp:store_le' => 'C++17, where there is no span',
  'core/secret.hpp:wipe' => 'C++17, where there is no span',
  'core/workspace.hpp:workspace_base' => 'keeps the address, writes nothing',
);
complain('scripts/lint/convention.pl', 'more than 4 exceptions') if keys %exception > 4;
my $checked = 0;
for my $file (files(qr/\.(hpp|cuh)$/, 'include/specverify')) {
  my $code = code_of(slurp($file));
  $code =~ s/^[ \t]*#(?:[^\n\\]|\\.|\\\n)*//mg;
  my $line_at = sub { 1 + (substr($code, 0, $_[0]) =~ tr/\n//) };
  my $is_inner = $file =~ m{/(detail|kernel|device|cuda)/};
  my @private;  # private sections of classes: [begin, end]
  push @private, [$-[0], $+[0]] while $code =~ /^ (?:private|protected):.*?(?=^(?: public:|\};))/msg;
  for my $declared (declarations($code)) {
    my ($name, $begin, @parameters) = @$declared;
    ++$checked;
    for my $i (0 .. $#parameters) {
      my $parameter = $parameters[$i];
      $parameter =~ s/=.*//s;
      $parameter =~ s/\s+/ /g;
      if ($parameter =~ /^ ?(?:[\w:]+::)?workspace ?& ?(\w*)/) {
        complain("$file:" . $line_at->($begin), "$name: the workspace is called $1, not scratch") if $1 ne '' && $1 ne 'scratch';
        complain("$file:" . $line_at->($begin), "$name: the workspace is not the last parameter") if $i < $#parameters;
      }
      complain("$file:" . $line_at->($begin), "$name: the digest is called $1") if $parameter =~ /\brow_digest ?& ?(\w+)/ && $1 ne 'digest';
      next if $is_inner || grep({ $_->[0] < $begin && $begin < $_->[1] } @private) || $name =~ /^operator/ || $parameter =~ /\bconst\b|&&/;
      next unless $parameter =~ /^ ?(?:typename )?(?:[\w:]+::)?(\w+)(?: ?<.*>)? ?([&*]) ?(\w*) ?$/;
      my ($type, $kind, $called) = ($1, $2, $3);
      next if $state{$type} || exists $exception{substr($file, length 'include/specverify/') . ":$name"};
      next if $type eq $name;    # a move constructor
      complain("$file:" . $line_at->($begin), "$name writes through $called ($type$kind): give a value back");
    }
  }
  while ($code =~ /\b(?:const )?status (\w+)(?: ?= ?|\{)/g) {
    my ($called, $at) = ($1, $-[0]);
    next unless substr($code, $at, 5) eq 'const';
    complain("$file:" . $line_at->($at), "a failing status is called $called, not why") if $called ne 'why';
  }
  while ($code =~ /\berrc (\w+) = [\w.:>-]+\(/g) {
    complain("$file:" . $line_at->($-[0]), "a failing errc is called $1, not why") if $1 ne 'why';
  }
}
done($checked);

#!/usr/bin/env bash
# Every script must parse.
cd "$(dirname "$0")/../.." || exit 1
code=0
while IFS= read -r file; do
  case $(head -n 1 "$file" | tr -d '\0') in
    '#!'*bash*) bash -n "$file" || code=1 ;;
    '#!'*perl*) perl -c "$file" 2>&1 | grep -v 'syntax OK' && code=1 ;;
  esac
done < <(find run .ci scripts tests examples apps models -type f -size -200k -not -path '*/__pycache__/*' -not -name '*.?pp' -not -name '*.md')
exit "$code"

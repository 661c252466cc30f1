/** Aligns columns: the first to the left, the others, numbers, to the right. The first row is the head. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map((row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join('  '),
  );
  return [lines[0]!, widths.map((width) => '-'.repeat(width)).join('  '), ...lines.slice(1)].join('\n');
}

/** Microseconds as text with three significant digits: `8.21 µs`, `146 µs`, `12.7 ms`. */
export function duration(microseconds: number): string {
  return microseconds < 1000 ? `${digits(microseconds)} µs` : `${digits(microseconds / 1000)} ms`;
}

/** A ratio and whether it meets its target: `1.12 ok (≤ 1.3)`. */
export function judged(value: number, target: number, unit = ''): string {
  const shown = unit === '' ? value.toFixed(2) : `${value.toFixed(0)} ${unit}`;
  return `${shown} ${value <= target ? 'ok' : 'MISS'} (≤ ${target}${unit === '' ? '' : ` ${unit}`})`;
}

function digits(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

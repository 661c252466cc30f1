import type { Timing } from './measure.js';

/** Aligns columns: the first to the left, the others, numbers, to the right. The first row is the head. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map((row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join('  '),
  );
  return [lines[0]!, widths.map((width) => '-'.repeat(width)).join('  '), ...lines.slice(1)].join('\n');
}

/** Times relative to the first one, judged by the targets that some have. */
export function ratiosTable(
  title: string,
  timings: readonly Timing[],
  targets: { readonly [name: string]: number },
): string {
  const rows = timings.map(({ name, median, spread }) => {
    const target = targets[name];
    const ratio = median / timings[0]!.median;
    const shown = target === undefined ? ratio.toFixed(2) : judged(ratio, target);
    return [name, duration(median), `± ${duration(spread)}`, shown];
  });
  return table([[title, 'median', 'spread', '×'], ...rows]);
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

/**
 * JSON for a screen: objects and arrays that fit stand on one line, and what is left behind `maxLines` is counted.
 *
 * @param width longest line, in characters; longer strings run over
 */
export function formatJson(value: unknown, width = 110, maxLines = 24): string {
  const lines = format(value, '', width).split('\n');
  if (lines.length <= maxLines) return lines.join('\n');
  return [...lines.slice(0, maxLines), `… ${lines.length - maxLines} more lines`].join('\n');
}

function format(value: unknown, indent: string, width: number): string {
  const short = oneLine(value);
  if (indent.length + short.length <= width || typeof value !== 'object' || value === null) return short;
  const deeper = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((item) => format(item, deeper, width))
    : Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}: ${format(inner, deeper, width)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return `${open!}\n${parts.map((part) => deeper + part).join(',\n')}\n${indent}${close!}`;
}

function oneLine(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(oneLine).join(', ')}]`;
  const members = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}: ${oneLine(inner)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

/**
 * The items of a document in Markdown, numbered by its sections: `4.1 Method` is a row of a table of section 4.1, `4.1 #2` a
 * numbered entry, `4.1 #2 -1` a bullet below it, `4.4 -1` a bullet of the section, `7 ¶1` a line of prose. A part marked
 * "not shown" is not an item, nor is a line that only introduces the next lines.
 */
export function itemsOf(markdown: string): readonly string[] {
  const items: string[] = [];
  let section: string | undefined;
  let entry = '';
  const counts = new Map<string, number>();
  const next = (list: string): string => {
    const count = (counts.get(list) ?? 0) + 1;
    counts.set(list, count);
    return `${list}${count}`;
  };
  for (const line of markdown.split('\n')) {
    const [, heading] = /^#+ (?:(\d+(?:\.\d+)*)\.? )?/.exec(line) ?? [undefined, null];
    if (heading !== null) {
      section = heading;
      entry = '';
      continue;
    }
    if (section === undefined || line.trim() === '') continue;
    const [, cell] = /^\| (.+?) \|/.exec(line) ?? [];
    const [, number] = /^(\d+)\. /.exec(line) ?? [];
    if (number !== undefined) entry = `${section} #${number}`;
    if (cell === undefined ? line.startsWith('|') : HEADS.has(cell)) continue;
    if (line.includes('not shown') || line.endsWith(':')) continue;
    if (cell !== undefined) items.push(`${section} ${cell.replaceAll(/[`\\]/g, '')}`);
    else if (number !== undefined) items.push(entry);
    else if (/^ +- /.test(line)) items.push(next(`${entry} -`));
    else items.push(next(`${section} ${line.startsWith('- ') ? '-' : '¶'}`));
  }
  return items;
}

/** First cells of the heads of tables. */
const HEADS: ReadonlySet<string> = new Set([
  'Resource',
  'Profile type',
  'Element',
  'Parameter',
  'Item',
  'Query form',
  '---',
]);

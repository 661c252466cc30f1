import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The Markdown files below a folder of the project, by their paths from its root. */
export function markdownIn(folder: string): string[] {
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`)
    .sort();
}

/**
 * The text of a page of `docs`, in any folder.
 * @param name The page's file name without `.md`, for example `queries`.
 */
export function readPage(name: string): string {
  return readFileSync(join(ROOT, pathOf(name)), 'utf8');
}

/** The resources over which the examples of a page run: the JSON file beside it. */
export function readResources<Sample>(name: string): Sample[] {
  return JSON.parse(readFileSync(join(ROOT, pathOf(name).replace(/md$/, 'json')), 'utf8')) as Sample[];
}

function pathOf(name: string): string {
  const paths = markdownIn('docs').filter((path) => basename(path) === `${name}.md`);
  if (paths.length !== 1) throw new Error(`docs has ${paths.length} pages named ${name}.md`);
  return paths[0]!;
}

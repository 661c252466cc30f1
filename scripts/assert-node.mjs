// Imported first by what people start by hand. On a Node.js that the package does not support it ends the process with one
// line, where missing functions and native modules would otherwise fail one by one, or kill workers without a word.
import { readFileSync } from 'node:fs';

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const needed = engines.node.replace('>=', '');
const { node } = process.versions;

if (isBelow(node, needed)) {
  console.error(
    `fhirgraph needs Node.js ${needed} or newer; this is ${node}. npm scripts and npx use the one that npm ci installs.`,
  );
  process.exit(1);
}

function isBelow(version, least) {
  const [left, right] = [version, least].map((text) => text.split('.').map((part) => Number.parseInt(part, 10)));
  const at = right.findIndex((part, index) => part !== (left[index] ?? 0));
  return at !== -1 && (left[at] ?? 0) < right[at];
}

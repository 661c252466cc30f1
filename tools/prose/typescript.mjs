import ts from 'typescript';

/**
 * A textlint plugin for TypeScript: the prose of a source file is its comments, and the texts of three words or more,
 * which are messages. See https://textlint.github.io/docs/plugin.html.
 */
export class TypescriptProcessor {
  availableExtensions() {
    return ['.ts'];
  }

  processor() {
    return {
      preProcess: (text) => documentOf(text),
      postProcess: (messages, filePath) => ({ messages, filePath: filePath ?? '<text>' }),
    };
  }
}

function documentOf(text) {
  const lines = lineStarts(text);
  const node = (type, [start, end], more) => ({
    type,
    raw: text.slice(start, end),
    range: [start, end],
    loc: { start: positionOf(start, lines), end: positionOf(end, lines) },
    ...more,
  });
  const children = proseOf(text).map((range) =>
    node('Paragraph', range, { children: [node('Str', range, { value: text.slice(...range) })] }),
  );
  return node('Document', [0, text.length], { children });
}

/** Where the prose is: one range per paragraph of a comment, and per message. */
function proseOf(text) {
  const ranges = [];
  const source = ts.createSourceFile('prose.ts', text, ts.ScriptTarget.Latest, true);
  const seen = new Set();
  const visit = (node) => {
    for (const comment of ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []) {
      if (!seen.has(comment.pos)) ranges.push(...paragraphsOf(text, comment));
      seen.add(comment.pos);
    }
    if (isMessage(node)) ranges.push([node.getStart() + 1, node.getEnd() - 1]);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return ranges.sort(([a], [b]) => a - b);
}

function isMessage(node) {
  const isText = ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node) || ts.isTemplateExpression(node);
  if (!isText || /\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|WHERE|PRAGMA|WITH|FROM|JOIN|SET)\b/.test(node.getText()))
    return false;
  return !ts.isImportDeclaration(node.parent) && /^.?[\p{L}$"]\S* \S+ \S*[a-z]/u.test(node.getText());
}

/** Comments without their code: an example ends a comment's prose. */
function paragraphsOf(text, { pos, end }) {
  const comment = text.slice(pos, end);
  const example = comment.search(/\* @example|```/);
  const ranges = [];
  let start;
  let offset = pos;
  for (const line of comment.slice(0, example === -1 ? undefined : example).split('\n')) {
    const content = line.replace(/^\s*(?:\/\*\*?|\*\/|\*|\/\/)?/, '').replace(/\*\/$/, '');
    const begins = /^\s*(?:@|- |\|)/.test(content) || start === undefined;
    if (!/\w/.test(content) || /^\s*(?:eslint|@ts-|v8 |Stryker)/.test(content)) start = undefined;
    else if (begins) ranges.push((start = [offset + line.indexOf(content.trim()), offset + line.trimEnd().length]));
    else start[1] = offset + line.trimEnd().length;
    offset += line.length + 1;
  }
  return ranges;
}

function lineStarts(text) {
  return [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
}

function positionOf(index, lines) {
  let [low, high] = [0, lines.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (lines[middle] <= index) low = middle;
    else high = middle - 1;
  }
  return { line: low + 1, column: index - lines[low] };
}

import { unquote, unwrap, type SyntaxNode } from '../../fhirpath/syntax-tree.js';

/** One operand of a union: its syntax tree and its text. */
export interface Alternative {
  readonly tree: SyntaxNode;
  readonly text: string;
}

/** The operands of a union (`Patient.name | Person.name`), those in parentheses included; otherwise the expression itself. */
export function alternativesOf(tree: SyntaxNode, text: string): readonly Alternative[] {
  const trees = operands(tree);
  const texts = splitUnion(text);
  if (trees.length !== texts.length) return [{ tree, text }];
  return trees.map((one, index) => ({ tree: one, text: texts[index]! }));
}

/** The name that an expression starts from: `Patient` of `Patient.name.given`. */
export function leadingName(node: SyntaxNode): string | undefined {
  if (node.type === 'MemberInvocation') return unquote(node.text ?? '');
  return node.children?.[0] === undefined ? undefined : leadingName(node.children[0]);
}

function operands(node: SyntaxNode): readonly SyntaxNode[] {
  const inner = unwrap(node);
  return inner.type === 'UnionExpression' ? (inner.children ?? []).flatMap(operands) : [inner];
}

function splitUnion(text: string): readonly string[] {
  const bars: number[] = [];
  let depth = 0;
  let closed: number | undefined;
  for (const { 0: token, index } of text.matchAll(TOKENS)) {
    if (isOpening(token)) depth += 1;
    else if (isClosing(token)) {
      depth -= 1;
      if (depth === 0) closed ??= index;
    } else if (token === '|' && depth === 0) bars.push(index);
  }
  if (bars.length === 0) {
    const trimmed = text.trim();
    const isWrapped = trimmed.startsWith('(') && closed === text.length - 1 - (text.length - text.trimEnd().length);
    return isWrapped ? splitUnion(trimmed.slice(1, -1)) : [trimmed];
  }
  const starts = [0, ...bars.map((bar) => bar + 1)];
  return starts.flatMap((start, index) => splitUnion(text.slice(start, bars[index])));
}

function isOpening(token: string): boolean {
  return token === '(' || token === '[' || token === '{';
}

function isClosing(token: string): boolean {
  return token === ')' || token === ']' || token === '}';
}

/** Quotes, comments, and single characters. */
const TOKENS = /'(?:[^'\\]|\\.)*'?|`(?:[^`\\]|\\.)*`?|\/\*.*?\*\/|\/\/[^\n]*|\S/gs;

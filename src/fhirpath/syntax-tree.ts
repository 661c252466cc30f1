import { shorten } from '../fhir/messages.js';
import { FhirError } from '../fhir/error.js';
import { fhirPathLibrary } from './library.js';

/** A node of fhirpath.js's syntax tree; only the members used here. */
export interface SyntaxNode {
  readonly type: string;
  /** The name, operator or literal as written; names may be in backquotes, strings are in quotes. */
  readonly text?: string;
  /** Name of a `` %`variable` `` in quotes. */
  readonly delimitedText?: string;
  /** Names at the start of a path: 1, or 2 where that path is a parameter. */
  readonly atRoot?: 1 | 2;
  readonly children?: readonly SyntaxNode[];
}

/** Maximum length of an expression, in characters. */
export const MAX_EXPRESSION_LENGTH = 4096;
/** Maximum nesting of parentheses, brackets and braces, and of consecutive signs. */
const MAX_NESTING = 40;
/** Maximum number of numbers and commas in an expression of a query. */
const MAX_NUMBERS = 64;

/**
 * Parses an expression.
 *
 * @throws FhirError `invalid` - not FHIRPath; the message has the location.
 * @throws FhirError `too-costly` - it is longer than 4096 characters or nested deeper than 40 levels.
 */
export function parseFhirPath(expression: string): SyntaxNode {
  if (expression.length > MAX_EXPRESSION_LENGTH) {
    const message = `The FHIRPath expression has ${expression.length} characters; at most ${MAX_EXPRESSION_LENGTH} are allowed`;
    throw new FhirError('too-costly', message, { details: { max: MAX_EXPRESSION_LENGTH, value: expression.length } });
  }
  // The parser's time grows more than linearly with nested function calls and signs.
  if (nesting(expression) > MAX_NESTING) {
    const message = `The FHIRPath expression nests brackets or signs deeper than ${MAX_NESTING} levels; split it up`;
    throw new FhirError('too-costly', message, { details: { max: MAX_NESTING } });
  }
  const library = fhirPathLibrary();
  try {
    return library.parse(expression) as SyntaxNode;
  } catch (error) {
    // The error references the whole parser, which is too large to log or print.
    const problems = error instanceof Error ? error.message : String(error);
    throw new FhirError('invalid', `Not a FHIRPath expression: ${firstProblem(problems)}`, {
      cause: new Error(problems),
    });
  }
}

/**
 * Rejects expressions that take long to parse, in one turn of the event loop: the parser looks ahead at each number and
 * parameter, for a fifth of a millisecond. Only for expressions of queries; profiles may calculate check digits.
 *
 * @throws FhirError `too-costly` - more than 64 numbers and commas
 */
export function assertFewNumbers(expression: string): void {
  // A longer one is refused when it is parsed.
  if (expression.length > MAX_EXPRESSION_LENGTH) return;
  const value = expression.match(NUMBERS)?.filter((token) => /^[\d,]/.test(token)).length ?? 0;
  if (value <= MAX_NUMBERS) return;
  const message = `A FHIRPath expression of a query has at most ${MAX_NUMBERS} numbers and commas; this one has ${value}`;
  throw new FhirError('too-costly', message, { details: { max: MAX_NUMBERS, value } });
}

/** Numbers and commas, and the quotes, comments, names and dates that may have digits. */
const NUMBERS = /'(?:[^'\\]|\\.)*'?|`(?:[^`\\]|\\.)*`?|\/\*.*?\*\/|\/\/[^\n]*|[A-Za-z_@][\w:.]*|\d+(?:\.\d+)?|,/gs;

/** The nodes of an expression. */
export function countNodes({ children = [] }: SyntaxNode): number {
  return children.reduce((sum, child) => sum + countNodes(child), 1);
}

/** The single inner node of nodes that only wrap another one. */
export function unwrap(node: SyntaxNode): SyntaxNode {
  let inner = node;
  while (WRAPPERS.has(inner.type) && inner.children?.length === 1) inner = inner.children[0]!;
  return inner;
}

const WRAPPERS: ReadonlySet<string> = new Set([
  'EntireExpression',
  'TermExpression',
  'ParenthesizedTerm',
  'InvocationTerm',
  'LiteralTerm',
]);

/** The parameters of a function call. */
export function parametersOf(invocation: SyntaxNode): readonly SyntaxNode[] {
  const [name, ...rest] = invocation.children?.[0]?.children ?? [];
  if (name === undefined) return [];
  // sort() has its parameters where other functions have the name and the list.
  if (name.type === 'SortDirectionArgument') return [name, ...rest];
  return rest[0]?.children ?? [];
}

/** Decodes a name or string in quotes or backquotes. */
export function unquote(text: string): string {
  const quoted = /^(['`])(.*)\1$/s.exec(text);
  if (quoted === null) return text;
  return quoted[2]!.replace(/\\(u[0-9a-fA-F]{4}|.)/gs, (_, escape: string) => {
    if (escape.length > 1) return String.fromCharCode(parseInt(escape.slice(1), 16));
    return CONTROL_ESCAPES.get(escape) ?? escape;
  });
}

const CONTROL_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['r', '\r'],
  ['n', '\n'],
  ['t', '\t'],
  ['f', '\f'],
]);

/** The deepest level of brackets and consecutive signs, ignoring those in quotes and comments. */
function nesting(expression: string): number {
  let depth = 0;
  let signs = 0;
  let deepest = 0;
  for (const [token] of expression.matchAll(TOKENS)) {
    if (token.startsWith('/*') || token.startsWith('//')) continue;
    if (token === '-' || token === '+') signs += 1;
    else signs = 0;
    if ('([{'.includes(token)) depth += 1;
    else if (')]}'.includes(token)) depth -= 1;
    deepest = Math.max(deepest, depth + signs);
  }
  return deepest;
}

/** Quotes, comments, and single non-space characters. */
const TOKENS = /'(?:[^'\\]|\\.)*'?|`(?:[^`\\]|\\.)*`?|\/\*.*?\*\/|\/\/[^\n]*|\S/gs;

/** Parser messages quote the expression and list all tokens of the grammar, so only the first is kept, shortened. */
function firstProblem(problems: string): string {
  const [first = ''] = problems.split('\n');
  const match = /^line: (\d+); column: (\d+); message: (.*)$/.exec(first);
  if (match === null) return 'it cannot be parsed';
  const [, line, column, message] = match as unknown as [string, string, string, string];
  const text = message.replace(/ expecting \{.*$/, '');
  return `line ${line}, column ${Number(column) + 1}: ${shorten(text, 120)}`;
}

import { Kind, type ASTNode, type DocumentNode } from './graphql-js.js';

/** The size of a document, measured before any recursive code visits it. */
export interface DocumentSize {
  /** Tokens counted by the parser; otherwise names and values, a lower bound. */
  readonly tokens: number;
  /** Deepest nesting of selection sets, list values, object values or list types. */
  readonly nesting: number;
}

/** Measures a document iteratively and stops beyond either of the bounds. Values other than nodes are skipped. */
export function measureDocument(document: DocumentNode, bounds: DocumentSize): DocumentSize {
  let leaves = 0;
  let nesting = 0;
  let nodes = 0;
  const open: [ASTNode, number][] = [[document, 0]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [node, outer] = next;
    nodes += 1;
    if (nodes > NODES_PER_TOKEN * bounds.tokens) return { tokens: bounds.tokens + 1, nesting };
    const depth = NESTING.has(node.kind) ? outer + 1 : outer;
    nesting = Math.max(nesting, depth);
    const known = open.length;
    pushChildren(node, depth, open);
    if (open.length === known) leaves += 1;
    // Each pending node has at least one leaf.
    if (nesting > bounds.nesting || leaves + open.length > bounds.tokens) {
      leaves += open.length;
      break;
    }
  }
  const { tokenCount } = document as { readonly tokenCount?: unknown };
  return { tokens: Number.isSafeInteger(tokenCount) ? Math.max(leaves, tokenCount as number) : leaves, nesting };
}

/** A parser creates about two nodes per token. Cyclic nodes would never end. */
const NODES_PER_TOKEN = 8;

const NESTING: ReadonlySet<string> = new Set([Kind.SELECTION_SET, Kind.LIST, Kind.OBJECT, Kind.LIST_TYPE]);

function pushChildren(node: ASTNode, depth: number, open: [ASTNode, number][]): void {
  // PERF: `Object.entries` takes four times as long.
  for (const key in node) {
    const value = (node as unknown as { readonly [key: string]: unknown })[key];
    // Locations reference the tokens, which are linked to one another.
    if (key === 'loc' || typeof value !== 'object' || value === null) continue;
    if (!Array.isArray(value)) open.push([value as ASTNode, depth]);
    else
      for (const child of value as readonly unknown[]) {
        if (typeof child === 'object' && child !== null) open.push([child as ASTNode, depth]);
      }
  }
}

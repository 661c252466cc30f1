import { FhirError } from '../../fhir/error.js';
import { parametersOf, unquote, unwrap, type SyntaxNode } from '../../fhirpath/syntax-tree.js';

/**
 * Asserts that an expression needs no more of the target of `resolve()` than its type and id. An index is made of one
 * resource, so an expression that reads another would find nothing, without an error.
 *
 * @throws FhirError `unsupported` - the expression reads an element of a target
 */
export function assertNoTargetRead(tree: SyntaxNode): void {
  visit(tree, false);
}

/**
 * @param self whether `$this` is the target of a reference
 * @returns whether items of the result can be
 */
function visit(wrapped: SyntaxNode, self: boolean): boolean {
  const node = unwrap(wrapped);
  const [first, second] = node.children ?? [];
  switch (node.type) {
    case 'ThisInvocation':
      return self;
    case 'MemberInvocation':
    case 'FunctionInvocation':
      return invoke(node, self);
    case 'InvocationExpression':
      return invoke(second!, visit(first!, self));
    case 'IndexerExpression':
      visit(second!, self);
      return visit(first!, self);
    case 'TypeExpression':
      return visit(first!, self) && node.text === 'as';
    default: {
      const results = (node.children ?? []).map((child) => visit(child, self));
      return node.type === 'UnionExpression' && results.includes(true);
    }
  }
}

function invoke(node: SyntaxNode, from: boolean): boolean {
  const name = unquote(node.text ?? '');
  if (node.type === 'MemberInvocation') {
    // The name of a type tests the item itself.
    if (from && !KNOWN.has(name) && !/^[A-Z]/.test(name)) throw readsTarget(`.${name}`);
    return false;
  }
  if (node.type !== 'FunctionInvocation') return false;
  if (from && NAVIGATING.has(name)) throw readsTarget(`.${name}()`);
  const results = parametersOf(node).map((parameter) => visit(parameter, from));
  return name === 'resolve' || (from && KEEPING.has(name)) || (JOINING.has(name) && results.includes(true));
}

/** The elements of a target that its reference states. */
const KNOWN: ReadonlySet<string> = new Set(['resourceType', 'id']);
const NAVIGATING: ReadonlySet<string> = new Set(['extension', 'children', 'descendants']);
/** The functions whose results are items of their parameters. */
const JOINING: ReadonlySet<string> = new Set(['select', 'repeat', 'union', 'combine', 'iif', 'coalesce']);
/** The functions whose results are items of their input. */
const KEEPING: ReadonlySet<string> = new Set([
  ...['where', 'first', 'last', 'tail', 'single', 'skip', 'take', 'as', 'ofType', 'distinct', 'sort', 'trace'],
  ...['union', 'combine', 'intersect', 'exclude'],
]);

function readsTarget(rest: string): FhirError {
  return new FhirError(
    'unsupported',
    `the index of a resource cannot depend on other resources, but the expression reads "resolve()${rest.slice(0, 60)}"; search by a chain instead`,
  );
}

/**
 * Compiles a FHIRPath syntax tree to the path steps of src/fhir/definition-types.ts.
 *
 * @returns undefined where the expression has another form.
 */
export function pathSteps(node, isTypeName) {
  switch (node.type) {
    case 'EntireExpression':
    case 'TermExpression':
    case 'ParenthesizedTerm':
    case 'InvocationTerm':
      return node.children.length === 1 ? pathSteps(node.children[0], isTypeName) : undefined;
    case 'MemberInvocation':
      return node.atRoot !== undefined && isTypeName(node.text) ? [] : [node.text];
    case 'InvocationExpression':
      return invocationSteps(node, isTypeName);
    case 'TypeExpression':
      return node.text === 'as'
        ? append(pathSteps(node.children[0], isTypeName), { ofType: typeSpecifier(node.children[1]) })
        : undefined;
    case 'IndexerExpression': {
      const index = Number(literal(node.children[1]));
      return Number.isInteger(index) ? append(pathSteps(node.children[0], isTypeName), { index }) : undefined;
    }
    default:
      return undefined;
  }
}

/** The alternatives of a union, as syntax trees. */
export function alternatives(node) {
  if (node.type === 'UnionExpression') return node.children.flatMap(alternatives);
  const wraps =
    ['EntireExpression', 'TermExpression', 'ParenthesizedTerm'].includes(node.type) && node.children.length === 1;
  return wraps ? alternatives(node.children[0]) : [node];
}

/** The name an expression starts from: `Patient` of `Patient.name.given`. */
export function leadingName(node) {
  if (node.type === 'MemberInvocation') return node.text;
  return node.children === undefined ? undefined : leadingName(node.children[0]);
}

function invocationSteps(node, isTypeName) {
  const [base, invocation] = node.children;
  const steps = pathSteps(base, isTypeName);
  if (invocation.type === 'MemberInvocation') return append(steps, invocation.text);
  if (invocation.type !== 'FunctionInvocation') return undefined;
  const [parameter, second] = invocation.children[0].children[1]?.children ?? [];
  if (parameter === undefined || second !== undefined) return undefined;
  if (invocation.text === 'ofType' || invocation.text === 'as') return append(steps, { ofType: parameter.text });
  return invocation.text === 'where' ? append(steps, condition(parameter)) : undefined;
}

/** `system = 'phone'` or `resolve() is Patient`. */
function condition(node) {
  const [left, right] = node.children;
  if (node.type === 'TypeExpression' && node.text === 'is') {
    return isResolve(left) ? { resolvesTo: typeSpecifier(right) } : undefined;
  }
  if (node.type !== 'EqualityExpression' || node.text !== '=') return undefined;
  const path = pathSteps(left, () => false);
  const equals = literal(right);
  const plain = path !== undefined && path.every((step) => typeof step === 'string');
  return plain && equals !== undefined ? { path, equals } : undefined;
}

function isResolve(node) {
  const inner = unwrap(node);
  return inner.type === 'FunctionInvocation' && inner.text === 'resolve';
}

/** The value of a string, boolean or number literal; numbers come as text. */
function literal(node) {
  const inner = unwrap(node);
  if (inner.type === 'StringLiteral' && !inner.text.includes('\\')) return inner.text.slice(1, -1);
  if (inner.type === 'BooleanLiteral') return inner.text === 'true';
  return inner.type === 'NumberLiteral' ? inner.text : undefined;
}

function unwrap(node) {
  const wraps = ['TermExpression', 'InvocationTerm', 'LiteralTerm', 'ParenthesizedTerm'].includes(node.type);
  return wraps && node.children.length === 1 ? unwrap(node.children[0]) : node;
}

function typeSpecifier(node) {
  return node.text.replace(/^FHIR\./, '');
}

function append(steps, step) {
  return steps === undefined || step === undefined ? undefined : [...steps, step];
}

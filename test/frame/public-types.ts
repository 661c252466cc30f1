import ts from 'typescript';
import { expect, test } from 'vitest';
import { checker, ENTRIES, exportsOf, isHidden, isOurs, resolved } from './public-program.js';

// A host that calls a function can name its inputs and outputs: every type in a public signature is exported, by
// the entry of the function itself. Each type has one home: the types of the store contract are in `fhirgraph/store`,
// those of a terminology in `fhirgraph/terminology`, and other entries can rely on the main entry, which every host imports.

const RELIED_ON: Readonly<Record<string, readonly string[]>> = {
  index: ['store', 'terminology'],
  store: ['index', 'terminology'],
  'test-service': ['index', 'store', 'terminology', 'http'],
};

/** Types in the signatures of exports, with the export that uses them. */
function typesNamedBy(symbol: ts.Symbol): ts.Symbol[] {
  const named: ts.Symbol[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isBlock(node) || isHidden(node) || isValueOfConstant(node)) return;
    const name = ts.isTypeReferenceNode(node)
      ? node.typeName
      : ts.isExpressionWithTypeArguments(node)
        ? node.expression
        : undefined;
    const found = name && checker().getSymbolAtLocation(name);
    if (found !== undefined) named.push(resolved(found));
    ts.forEachChild(node, visit);
  };
  symbol.declarations?.forEach(visit);
  return named.filter(
    ({ flags, declarations }) => !(flags & ts.SymbolFlags.TypeParameter) && declarations?.some(isOurs),
  );
}

/** The initializer of a constant is irrelevant to callers, who see only its type. */
function isValueOfConstant(node: ts.Node): boolean {
  return ts.isExpression(node) && !ts.isExpressionWithTypeArguments(node) && ts.isVariableDeclaration(node.parent);
}

test.each(ENTRIES)('types in the signatures of entry %s can be imported', (entry) => {
  const importable = new Set<ts.Symbol>();
  for (const one of [entry, ...(RELIED_ON[entry] ?? ['index', 'store', 'terminology'])]) {
    for (const symbol of exportsOf(one).values()) importable.add(symbol);
  }
  const missing = [...exportsOf(entry)].flatMap(([name, symbol]) =>
    typesNamedBy(symbol)
      .filter((type) => !importable.has(type))
      .map((type) => `${name} names ${type.name}`),
  );
  expect([...new Set(missing)]).toEqual([]);
});

import ts from 'typescript';
import { expect, test } from 'vitest';
import { checker, ENTRIES, exportsOf, isHidden, isOurs, sourceOf } from './public-program.js';

// Hosts that compile with `exactOptionalPropertyTypes` pass on options that can be undefined, so every optional property of
// a type that a host passes in accepts undefined. The types are found from the signatures of the public functions: parameters,
// including results of the host's own functions, and parameters of the methods of returned objects.

/** Types that only this library creates, so that a host only passes them back, and the types of OpenTelemetry's options. */
const NOT_BY_HOSTS: ReadonlySet<string> = new Set([
  ...['Caller', 'CriteriaSearch', 'DefinitionTexts', 'FhirModel', 'SearchSubject'],
  ...['InstrumentOptions', 'SpanOptions'],
]);

/** Names of `Type.property` that refuse undefined. */
const refusals = new Set<string>();
const seen = { in: new Set<ts.Type>(), out: new Set<ts.Type>() };
let types = 0;

type Direction = keyof typeof seen;

function visit(type: ts.Type, direction: Direction, at: ts.Node): void {
  if (seen[direction].has(type)) return;
  seen[direction].add(type);
  const name = (type.aliasSymbol ?? type.getSymbol())?.name ?? '';
  if (direction === 'in' && (type.isClass() || NOT_BY_HOSTS.has(name))) return;
  if (type.isUnionOrIntersection()) for (const part of type.types) visit(part, direction, at);
  for (const argument of [...(type.aliasTypeArguments ?? []), ...typeArguments(type)]) visit(argument, direction, at);
  for (const signature of [...type.getCallSignatures(), ...type.getConstructSignatures()]) {
    if (isOurs(signature.declaration)) visitSignature(signature, direction, at);
  }
  if (!(type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection))) return;
  if (direction === 'in') types += 1;
  for (const property of type.getProperties()) {
    if (!property.declarations?.some(isOurs) && !isMapped(type)) continue;
    if (property.declarations?.some(isHidden)) continue;
    // An optional method exists or not; no host passes on a method that can be undefined.
    const isOption = property.flags & ts.SymbolFlags.Optional && !(property.flags & ts.SymbolFlags.Method);
    if (direction === 'in' && isOption && !takesUndefined(property, at)) {
      refusals.add(`${nameOf(type)}.${property.name}`);
    }
    if (property.declarations?.some(isOurs)) visit(checker().getTypeOfSymbolAtLocation(property, at), direction, at);
  }
}

/** Types that the host passes to a returned function, and types that a function of the host returns. */
function visitSignature(signature: ts.Signature, direction: Direction, at: ts.Node): void {
  const parameters: Direction = direction === 'out' ? 'in' : 'out';
  for (const parameter of signature.parameters)
    visit(checker().getTypeOfSymbolAtLocation(parameter, at), parameters, at);
  visit(signature.getReturnType(), direction, at);
}

function takesUndefined(property: ts.Symbol, at: ts.Node): boolean {
  const type = checker().getTypeOfSymbolAtLocation(property, at);
  // An absent property has a type of its own, which is not that of undefined.
  const parts = type.isUnion() ? type.types : [type];
  return parts.some(
    (part) => part === checker().getUndefinedType() || part.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown),
  );
}

function typeArguments(type: ts.Type): readonly ts.Type[] {
  const isReference = (type as ts.ObjectType).objectFlags & ts.ObjectFlags.Reference;
  return type.flags & ts.TypeFlags.Object && isReference ? checker().getTypeArguments(type as ts.TypeReference) : [];
}

function isMapped(type: ts.Type): boolean {
  return (
    Boolean((type as ts.ObjectType).objectFlags & ts.ObjectFlags.Mapped) &&
    (type.aliasSymbol?.declarations ?? []).some(isOurs)
  );
}

function nameOf(type: ts.Type): string {
  return checker().typeToString(type, undefined, ts.TypeFormatFlags.NoTruncation).slice(0, 80);
}

test('every optional property that a host can set accepts undefined', () => {
  for (const entry of ENTRIES) {
    const file = sourceOf(entry);
    for (const [name, symbol] of exportsOf(entry)) {
      // The properties of typed documents are behind a condition on the type of the variables.
      if (/(Context|Config|Request|Options|Body)$/.test(name))
        visit(checker().getDeclaredTypeOfSymbol(symbol), 'in', file);
      if (symbol.flags & ts.SymbolFlags.Value) visit(checker().getTypeOfSymbolAtLocation(symbol, file), 'out', file);
    }
  }
  // A type refers to the whole program, half a gigabyte.
  seen.in.clear();
  seen.out.clear();
  expect(types).toBeGreaterThan(50);
  expect([...refusals].sort()).toEqual([]);
});

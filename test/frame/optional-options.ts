import ts from 'typescript';
import { expect, test } from 'vitest';
import { checker, ENTRIES, exportsOf, isHidden, isOurs, sourceOf } from './public-program.js';

// Hosts that compile with `exactOptionalPropertyTypes` pass on options that may be undefined, so every optional property of
// whatever a host hands in takes undefined. The types are found from the signatures of the public functions: parameters,
// results of the host's own functions among them, and parameters of the methods of what is handed out.

/** Made by this library alone, so that a host hands in what it was handed out; and the shapes of OpenTelemetry's options. */
const NOT_BY_HOSTS: ReadonlySet<string> = new Set([
  ...['Caller', 'CriteriaSearch', 'DefinitionTexts', 'FhirModel', 'SearchSubject'],
  ...['InstrumentOptions', 'SpanOptions'],
]);

/** Names of `Type.property` where undefined is refused. */
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
    // An optional method is there or not; nobody passes on one that may be undefined.
    const isOption = property.flags & ts.SymbolFlags.Optional && !(property.flags & ts.SymbolFlags.Method);
    if (direction === 'in' && isOption && !takesUndefined(property, at)) {
      refusals.add(`${nameOf(type)}.${property.name}`);
    }
    if (property.declarations?.some(isOurs)) visit(checker().getTypeOfSymbolAtLocation(property, at), direction, at);
  }
}

/** What the host hands in to a function that is handed out, and takes from one that it hands in. */
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
      // Those of typed documents hide behind a condition on the type of the variables.
      if (/(Context|Config|Request|Options|Body)$/.test(name))
        visit(checker().getDeclaredTypeOfSymbol(symbol), 'in', file);
      if (symbol.flags & ts.SymbolFlags.Value) visit(checker().getTypeOfSymbolAtLocation(symbol, file), 'out', file);
    }
  }
  // A type leads to the whole program, half a gigabyte.
  seen.in.clear();
  seen.out.clear();
  expect(types).toBeGreaterThan(50);
  expect([...refusals].sort()).toEqual([]);
});

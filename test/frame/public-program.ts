import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { programOf, ROOT } from '../support/compile.js';

/** The root of the sources. */
export const SOURCE = join(ROOT, 'src/');

const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  exports: Record<string, unknown>;
};

/** The public entries, `index` first, without the entry that only exports names of other packages. */
export const ENTRIES = Object.entries(exports).flatMap(([path, target]) =>
  typeof target === 'object' && path !== './types' ? [path === '.' ? 'index' : path.slice(2)] : [],
);

const program = programOf(ENTRIES.map(fileOf));

export function checker(): ts.TypeChecker {
  return program().getTypeChecker();
}

export function sourceOf(entry: string): ts.SourceFile {
  return program().getSourceFile(fileOf(entry))!;
}

function fileOf(entry: string): string {
  return `${SOURCE}${entry}.ts`;
}

/** The exports of an entry: the declaration behind each public name. */
export function exportsOf(entry: string): ReadonlyMap<string, ts.Symbol> {
  const module = checker().getSymbolAtLocation(sourceOf(entry))!;
  return new Map(
    checker()
      .getExportsOfModule(module)
      .map((symbol) => [symbol.name, resolved(symbol)]),
  );
}

/** The declaration behind an imported name. */
export function resolved(symbol: ts.Symbol): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker().getAliasedSymbol(symbol) : symbol;
}

export function isOurs(node: ts.Node | undefined): boolean {
  return node?.getSourceFile().fileName.startsWith(SOURCE) === true;
}

/** True for members that hosts do not see: private members, and members that are marked as internal. */
export function isHidden(node: ts.Node): boolean {
  const modifiers = ts.getCombinedModifierFlags(node as ts.Declaration);
  const { name } = node as ts.NamedDeclaration;
  const isPrivate = name !== undefined && ts.isPrivateIdentifier(name);
  return (
    Boolean(modifiers & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) ||
    isPrivate ||
    ts.getJSDocTags(node).some(({ tagName }) => tagName.text === 'internal')
  );
}

import { dirname, relative, resolve, sep } from 'node:path';

/**
 * ESLint rule: the folders of src are layers, and values are imported downwards only.
 *
 * Options: `[{ source, layers }]`, where `source` is the absolute path of src and `layers` names, per folder, the folders
 * it may import values from besides itself. Imports of types may point anywhere. Reported are
 * - `upward`: a value imported from a layer that the matrix does not name;
 * - `sibling`: a store that imports from another store, or what stores share (`stores/sql`) from one of them;
 * - `facade`: anything of src imported from one of its top files (index.ts …), which only gather public names;
 * - `directory`: a relative import that names no file.
 *
 * @type {import('eslint').Rule.RuleModule}
 */
export const importLayers = {
  meta: {
    type: 'problem',
    schema: [{ type: 'object' }],
    messages: {
      upward:
        'Layer "{{from}}" may not import values from "{{to}}" (see the matrix in eslint.config.js); a type import is fine.',
      sibling: 'Store "{{from}}" may not import from store "{{to}}".',
      facade: '"{{to}}" only gathers public names; import from the file that defines the name.',
      directory: 'Import a file, with its ".js" extension, not a directory.',
    },
  },
  create(context) {
    const { source, layers } = context.options[0];
    const own = placeOf(context.filename);

    /** Folder parts and file name of an absolute path, from src; undefined outside of it. */
    function placeOf(path) {
      const parts = relative(source, path).split(sep);
      return parts[0] === '..' ? undefined : { folders: parts.slice(0, -1), file: parts.at(-1) };
    }

    function check(node, specifier, isType) {
      if (typeof specifier !== 'string' || !specifier.startsWith('.')) return;
      if (!/\.(?:js|mjs|json)$/.test(specifier)) return context.report({ node, messageId: 'directory' });
      const target = placeOf(resolve(dirname(context.filename), specifier));
      if (own === undefined || target === undefined || own.folders.length === 0) return;
      const [from, to] = [own.folders[0], target.folders[0]];
      if (to === undefined) return context.report({ node, messageId: 'facade', data: { to: target.file } });
      if (isType) return;
      if (from !== to && !(layers[from] ?? []).includes(to)) {
        return context.report({ node, messageId: 'upward', data: { from, to } });
      }
      const [fromStore, toStore] = [own.folders[1], target.folders[1]];
      if (from === 'stores' && to === 'stores' && toStore !== undefined && fromStore !== toStore && toStore !== 'sql') {
        context.report({ node, messageId: 'sibling', data: { from: fromStore, to: toStore } });
      }
    }

    return {
      ImportDeclaration: (node) => check(node, node.source.value, node.importKind === 'type' || allTypes(node)),
      ExportNamedDeclaration: (node) => check(node, node.source?.value, node.exportKind === 'type' || allTypes(node)),
      ExportAllDeclaration: (node) => check(node, node.source.value, node.exportKind === 'type'),
      ImportExpression: (node) => check(node, node.source.value, false),
    };
  },
};

/** True for `import { type A, type B }`: verbatimModuleSyntax keeps the import, but it carries no value. */
function allTypes(node) {
  const specifiers = node.specifiers ?? [];
  return specifiers.length > 0 && specifiers.every((one) => (one.importKind ?? one.exportKind) === 'type');
}

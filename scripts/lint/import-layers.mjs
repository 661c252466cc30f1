import { dirname, relative, resolve, sep } from 'node:path';
import { importChain, importedFile, importGraph } from './import-graph.mjs';

/** Folders of src/stores that several stores use. */
const SHARED = new Set(['sql', 'segments']);

/**
 * ESLint rule: the folders of src are layers, everything is imported downwards, and no imports form a circle. Types count
 * like values: a file that needs a type from above gets it carved out below.
 *
 * Options: `[{ source, layers, rooms }]`. `source` is the absolute path of src. `layers` names, per folder, the folders it
 * may import from besides itself. `rooms` lists, per folder (`access`, `stores/sqlite`), its parts from the bottom to the
 * top: subfolders (`policy/`, `database/`) and files (`caller.ts`). A part may import the parts before it; files that are
 * not listed stand on top. Reported are
 * - `upward`: an import from a layer that the matrix does not name;
 * - `part`: an import from a part of the same folder that stands higher;
 * - `circle`: an import that leads back to the file itself;
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
      upward: 'Layer "{{from}}" may not import from "{{to}}" (see the matrix in scripts/lint/layers.mjs).',
      part: '"{{from}}" may not import from "{{to}}", which stands above it (see scripts/lint/layers.mjs).',
      circle: 'The import leads back to this file: {{chain}}.',
      sibling: 'Store "{{from}}" may not import from store "{{to}}".',
      facade: '"{{to}}" only gathers public names; import from the file that defines the name.',
      directory: 'Import a file, with its ".js" extension, not a directory.',
    },
  },
  create(context) {
    const { source, layers, rooms = {} } = context.options[0];
    const own = placeOf(context.filename);

    /** Folder parts and file name of an absolute path, from src; undefined outside of it. */
    function placeOf(path) {
      const parts = relative(source, path).split(sep);
      return parts[0] === '..' ? undefined : { folders: parts.slice(0, -1), file: parts.at(-1) };
    }

    /** The folder with an order that a file is in, and the file's height there; undefined where no folder has an order. */
    function heightOf({ folders, file }) {
      const path = [...folders, file.replace(/\.js$/, '.ts')];
      const depth = folders.findLastIndex((_, index) => rooms[path.slice(0, index + 1).join('/')] !== undefined) + 1;
      if (depth === 0) return undefined;
      const room = path.slice(0, depth).join('/');
      const names = path.slice(depth).map((_, index, rest) => rest.slice(0, index + 1).join('/'));
      const parts = names.map((name, index) => (index === names.length - 1 ? name : `${name}/`));
      const part = parts.findLast((name) => rooms[room].includes(name));
      return {
        room,
        part: part ?? parts[0],
        height: part === undefined ? rooms[room].length : rooms[room].indexOf(part),
      };
    }

    function problemOf(specifier) {
      if (!/\.(?:js|mjs|json)$/.test(specifier)) return { messageId: 'directory' };
      const target = placeOf(resolve(dirname(context.filename), specifier));
      if (own === undefined || target === undefined || own.folders.length === 0) return undefined;
      const [from, to] = [own.folders[0], target.folders[0]];
      if (to === undefined) return { messageId: 'facade', data: { to: target.file } };
      if (from !== to && !(layers[from] ?? []).includes(to)) return { messageId: 'upward', data: { from, to } };
      const [fromStore, toStore] = [own.folders[1], target.folders[1]];
      if (
        from === 'stores' &&
        to === 'stores' &&
        toStore !== undefined &&
        fromStore !== toStore &&
        !SHARED.has(toStore)
      ) {
        return { messageId: 'sibling', data: { from: fromStore, to: toStore } };
      }
      const [here, there] = [heightOf(own), heightOf(target)];
      if (here !== undefined && here.room === there?.room && here.height < there.height) {
        return { messageId: 'part', data: { from: here.part, to: there.part } };
      }
      const chain = importChain(importGraph(source), importedFile(context.filename, specifier), context.filename);
      if (chain === undefined) return undefined;
      return { messageId: 'circle', data: { chain: chain.map((file) => relative(source, file)).join(' → ') } };
    }

    function check(node, specifier) {
      if (typeof specifier !== 'string' || !specifier.startsWith('.')) return;
      const problem = problemOf(specifier);
      if (problem !== undefined) context.report({ node, ...problem });
    }

    return {
      ImportDeclaration: (node) => check(node, node.source.value),
      ExportNamedDeclaration: (node) => check(node, node.source?.value),
      ExportAllDeclaration: (node) => check(node, node.source.value),
      ImportExpression: (node) => check(node, node.source.value),
      TSImportType: (node) => check(node, node.argument?.literal?.value ?? node.source?.value),
    };
  },
};

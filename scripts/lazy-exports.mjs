// Functions of the main entry that a first query does not need: their code is loaded by their first call. All of them return
// promises, so hosts cannot tell. The sources import it as usual; only the build makes imports of calls.
import { readFileSync } from 'node:fs';

const LAZY = new Set([
  'acceptInvitation',
  'createBot',
  'createClient',
  'createProject',
  'deactivateProject',
  'deleteProject',
  'erasePatient',
  'eraseResource',
  'explainFhirGraphql',
  'importBundle',
  'importBundles',
  'importNdjson',
  'initialize',
  'invite',
  'listProjects',
  'purgeHistory',
  'reactivateProject',
  'removeMember',
  'resendInvitation',
  'revokeSessions',
  'rotateClientSecret',
  'searchAuditLog',
  'searchMembers',
  'updateBot',
  'updateClient',
  'updateMember',
  'updateProject',
  'validateFhirGraphql',
  'validateResource',
  'verifyAuditLog',
  'verifyClientSecret',
]);

/** A plugin of esbuild. */
export const lazyExports = {
  name: 'lazy-exports',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]src[/\\]index\.ts$/ }, ({ path }) => ({
      contents: withLazyExports(readFileSync(path, 'utf8')),
      loader: 'ts',
    }));
  },
};

/** @throws Error if a name of the list is not exported */
export function withLazyExports(source) {
  const missing = new Set(LAZY);
  const text = source.replace(/^export \{([^}]*)\} from '([^']+)';$/gm, (statement, list, from) => {
    const names = list.split(',').map((name) => name.trim());
    const lazy = names.filter((name) => LAZY.has(name));
    if (lazy.length === 0) return statement;
    for (const name of lazy) missing.delete(name);
    const others = names.filter((name) => name !== '' && !LAZY.has(name));
    return [
      ...(others.length === 0 ? [] : [`export { ${others.join(', ')} } from '${from}';`]),
      ...lazy.map(
        (name) => `export async function ${name}(...values) { return (await import('${from}')).${name}(...values); }`,
      ),
    ].join('\n');
  });
  if (missing.size > 0) throw new Error(`src/index.ts does not export ${[...missing].join(', ')}`);
  return text;
}

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** The output of `gql.tada generate-output`, the tool's own command, for a schema. */
export async function generateOutput(sdl: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'fhirgraph-tada-'));
  try {
    const plugin = { name: 'gql.tada/ts-plugin', schema: './schema.graphql', tadaOutputLocation: './graphql-env.d.ts' };
    await writeFile(join(folder, 'schema.graphql'), sdl);
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: { plugins: [plugin] }, files: [] }),
    );
    const program = join(dirname(createRequire(import.meta.url).resolve('gql.tada/package.json')), 'bin/cli.js');
    await promisify(execFile)(process.execPath, [program, 'generate-output'], { cwd: folder });
    return await readFile(join(folder, 'graphql-env.d.ts'), 'utf8');
  } finally {
    await rm(folder, { recursive: true });
  }
}

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../support/free-port.js';
import { LOADER } from '../support/load-typescript.js';
import { blocksOf } from '../support/markdown.js';
import { readPage } from '../support/pages.js';

const ROOT = new URL('../..', import.meta.url).pathname;
const blocks = blocksOf(readPage('getting-started'));
const TOKEN_KEY = 'a-secret-of-at-least-32-characters';

/** A folder with the files of the guide, in which the package's name resolves to this source. */
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'fhirgraph-getting-started-'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  for (const { language, info, text } of blocks) {
    if (language === 'js') {
      writeFileSync(
        join(folder, info),
        text
          .replaceAll("'fhirgraph'", JSON.stringify(join(ROOT, 'src/index.ts')))
          .replaceAll(/'fhirgraph\/(\w+)'/g, (_, entry: string) => JSON.stringify(join(ROOT, `src/${entry}.ts`))),
      );
    }
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

async function run(file: string, ...args: string[]): Promise<string> {
  const env = { ...process.env, TOKEN_KEY };
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', LOADER, file, ...args], {
    cwd: folder,
    env,
  });
  return stdout;
}

test('following the guide line by line gives a guarded endpoint', async () => {
  const [, project, user] = /PROJECT=(\S+)\nADA=(\S+)/.exec(await run('setup.js'))!;
  const port = await freePort();
  const server = spawn(process.execPath, ['--import', LOADER, 'server.js'], {
    cwd: folder,
    env: { ...process.env, TOKEN_KEY, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await once(server.stdout, 'data');
    const token = (await run('token.js', project!, user!)).trim();
    const curl = blocks.find(({ text }) => text.includes('curl'))!.text;
    const ask = (authorization: string): Promise<Response> =>
      fetch(`http://127.0.0.1:${port}/fhir/R4/$graphql`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: /-d '(.*)'/.exec(curl)![1]!,
      });
    const answer = await ask(`Bearer ${token}`);
    expect(await answer.json()).toEqual(JSON.parse(blocks.find(({ info }) => info === 'answer')!.text));
    const refused = await ask('');
    expect([refused.status, await refused.json()]).toMatchObject([401, { resourceType: 'OperationOutcome' }]);
  } finally {
    server.kill();
  }
});

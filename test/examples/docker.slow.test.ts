import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { freePort } from '../support/free-port.js';
import { LOADER } from '../support/load-typescript.js';

const SERVER = fileURLToPath(new URL('../../examples/docker/server.ts', import.meta.url));
const fileNamed = temporaryFolder();

test('the service of the container answers, and ends by SIGTERM', async () => {
  const port = await freePort();
  const env = { ...process.env, BASE_URL: undefined, PORT: String(port), DATABASE: fileNamed('clinic.db') };
  const child = spawn(process.execPath, ['--import', LOADER, SERVER], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe(`Listening on ${port}`);
  const get = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${port}${path}`);
  expect(await (await get('/healthcheck')).json()).toEqual({ ok: true });
  expect((await get('/fhir/R4/Patient')).status).toBe(401);
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});

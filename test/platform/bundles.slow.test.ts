import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build, type BuildOptions, type BuildResult } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, launchChromium } from '../servers/chromium.js';
import { serve } from './service.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CHROMIUM = findChromium();
if (CHROMIUM === undefined)
  console.warn('No Chromium here, and FHIRGRAPH_CHROMIUM names none: no bundle runs in a browser');

let folder: string;
let expected: unknown;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fhirgraph-bundle-'));
  expected = await serve();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('the service answers two pages and no error', () => {
  const pageOf = (next: boolean, ...texts: readonly string[]): unknown => ({
    next,
    edges: texts.map((text) => ({ resource: { code: { text } } })),
  });
  const name = [{ family: 'Müller', given: ['Zoë 🌿'] }];
  expect(expected).toEqual([
    { data: { PatientList: [{ name, ObservationConnection: pageOf(true, 'Pulse 1', 'Pulse 2') }] } },
    { data: { ObservationConnection: pageOf(false, 'Pulse 3') } },
  ]);
});

describe('a service in one file, in an empty folder', () => {
  test.each([
    ['an ES module', 'esm', 'service.mjs'],
    ['a CommonJS script', 'cjs', 'service.cjs'],
  ] as const)('runs as %s', async (_, format, name) => {
    await bundle(PRINTS, { format, platform: 'node', outfile: join(folder, name) });
    expect(await output(name)).toEqual(expected);
  });

  test('runs in a worker thread', async () => {
    await bundle(POSTS, { format: 'esm', platform: 'node', outfile: join(folder, 'worker.mjs') });
    await writeFile(join(folder, 'main.mjs'), STARTS_WORKER);
    expect(await output('main.mjs')).toEqual(expected);
  });

  test('answers with an internal error, never one of the client, where a dependency is missing', async () => {
    const outfile = join(folder, 'incomplete.mjs');
    await bundle(PRINTS_ERROR, { format: 'esm', platform: 'node', outfile, external: ['fhirpath', 'fhirpath/*'] });
    expect(await output('incomplete.mjs')).toEqual(['internal']);
  });
});

describe('a bundle for browsers', () => {
  let bundled: BuildResult<{ metafile: true; write: false }>;
  beforeAll(async () => {
    const options = { format: 'iife', platform: 'browser', minify: true, write: false, metafile: true } as const;
    bundled = await bundle(FOR_BROWSERS, options);
  });

  test('names no module of Node.js', () => {
    const imports = Object.values(bundled.metafile.outputs).flatMap((one) => one.imports);
    expect(imports).toEqual([]);
  });

  test('has a bounded size, FHIRPath and definitions included', () => {
    const kilobytes = bundled.outputFiles[0]!.contents.length / 1000;
    expect(kilobytes).toBeGreaterThan(1_000);
    expect(kilobytes).toBeLessThan(3_200);
  });

  test.skipIf(CHROMIUM === undefined)('runs in Chromium and requests nothing', async () => {
    const server = createServer((_, response) => {
      response.setHeader('content-type', 'text/html; charset=utf-8');
      response.end(`<!doctype html><link rel="icon" href="data:,"><script>${bundled.outputFiles[0]!.text}</script>`);
    });
    const browser = await launchChromium(CHROMIUM!);
    try {
      const page = await browser.newPage();
      const requests: string[] = [];
      page.on('request', (request) => requests.push(request.url()));
      const url = await listen(server);
      await page.goto(url);
      expect(await page.evaluate('answer')).toEqual(expected);
      expect(requests).toEqual([url]);
    } finally {
      await browser.close();
      server.close();
    }
  });
});

/** Bundles a program with the sources in place of the package. */
function bundle(program: string, options: BuildOptions): Promise<BuildResult> {
  return build({
    bundle: true,
    stdin: { contents: program, resolveDir: fileURLToPath(new URL('.', import.meta.url)), loader: 'ts' },
    alias: { fhirgraph: join(ROOT, 'src', 'index.ts') },
    logLevel: 'silent',
    ...options,
  });
}

/** What the program prints, run by this Node.js. */
async function output(file: string): Promise<unknown> {
  const { stdout } = await run(process.execPath, [file], { cwd: folder });
  return JSON.parse(stdout);
}

function listen(server: Server): Promise<string> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`));
  });
}

const PRINTS = `import { serve } from './service.js'; serve().then((answer) => console.log(JSON.stringify(answer)));`;
const POSTS = `import { parentPort } from 'node:worker_threads';
  import { serve } from './service.js';
  serve().then((answer) => parentPort.postMessage(answer));`;
const STARTS_WORKER = `import { Worker } from 'node:worker_threads';
  const worker = new Worker(new URL('./worker.mjs', import.meta.url));
  worker.on('message', (answer) => console.log(JSON.stringify(answer)));`;
const PRINTS_ERROR = `import { executeFhirGraphql, MemoryStore, systemCaller } from 'fhirgraph';
  const context = { store: new MemoryStore(), caller: systemCaller('clinic') };
  executeFhirGraphql('{ PatientList { name(fhirpath: "given.exists()") { family } } }', context).then(({ errors }) =>
    console.log(JSON.stringify(errors.map(({ extensions }) => extensions.code))));`;
const FOR_BROWSERS = `import { serve } from './service.js'; globalThis.answer = serve();`;

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parseArguments, UsageError } from '../../examples/quickstart/arguments.js';
import { bundlesInDirectory } from '../../examples/quickstart/bundles.js';
import { formatJson } from '../../examples/quickstart/format-json.js';
import { generateSample } from '../../examples/sample-data.js';
import { IS_WHOLE } from '../support/chance.js';
import { LOADER } from '../support/load-typescript.js';

const root = join(import.meta.dirname, '../..');
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'fhirgraph-test-'));
});

afterAll(() => rm(directory, { recursive: true }));

/** Runs the program to its end. */
function quickstart(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const command = ['--import', LOADER, 'examples/quickstart.ts', ...args];
  return new Promise((resolve) => {
    const child = execFile(process.execPath, command, { cwd: root }, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode ?? -1, stdout, stderr });
    });
  });
}

interface PageOptions {
  readonly endpoint: string;
  readonly additionalHeaders: Record<string, string>;
  readonly defaultQuery: string;
}

/** The output of a program up to a text, and that text, once it appears. */
function printed(stream: Readable, pattern: RegExp): Promise<readonly [stdout: string, found: string]> {
  let text = '';
  return new Promise((resolve) => {
    stream.on('data', (chunk) => {
      text += String(chunk);
      const found = pattern.exec(text);
      if (found !== null) resolve([text, found[1]!]);
    });
  });
}

describe('the quickstart', () => {
  test('imports generated data and answers five queries without an error', async () => {
    const { code, stdout, stderr } = await quickstart('--patients', '2', '--db', join(directory, 'made-up.db'));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('Importing: 3/3 Bundles');
    expect(stdout.match(/^── \d/gm)).toEqual(['── 1', '── 2', '── 3', '── 4', '── 5']);
    expect(stdout.match(/^first \d+\.\d ms, again \d+\.\d ms$/gm)).toHaveLength(5);
    expect(stdout).not.toContain('"errors"');
  });

  test('imports a directory of Bundles, gzipped or not; has nothing new on the second run; serves GraphiQL and a service that only its page can use', async () => {
    const [shared, patient] = [...generateSample({ patients: 1 })];
    const data = await mkdtemp(join(directory, 'data-'));
    await writeFile(join(data, '1.json'), JSON.stringify(shared));
    await writeFile(join(data, '2.json.gz'), gzipSync(JSON.stringify(patient)));
    await writeFile(join(data, 'notes.txt'), 'not a Bundle');
    const total = shared!.entry!.length + patient!.entry!.length;
    const args = ['--data', data, '--db', join(directory, 'data.db')];
    const imported = `Importing: 2/2 Bundles, ${total} resources`;
    const run = await quickstart(...args);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(run.stdout).toContain(imported);

    const command = ['--import', LOADER, 'examples/quickstart.ts', ...args, '--serve', '--port', '0'];
    const child = spawn(process.execPath, command, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [stdout, url] = await printed(child.stdout, /GraphiQL: (\S+)/);
    expect(stdout).toContain(imported);
    const page = await (await fetch(url)).text();
    expect(page).toContain('fhirgraph quickstart');
    const options = /\{"title":"fhirgraph quickstart".*\}/.exec(page)![0];
    const { endpoint, additionalHeaders, defaultQuery } = JSON.parse(options) as PageOptions;
    expect(defaultQuery.match(/^query \w+/gm)).toHaveLength(5);
    for (const [, operationName] of defaultQuery.matchAll(/^query (\w+)/gm)) {
      const body = JSON.stringify({ query: defaultQuery, operationName });
      const headers = { 'content-type': 'application/json', ...additionalHeaders };
      const answer = await fetch(new URL(endpoint, url), { method: 'POST', headers, body });
      expect(Object.keys((await answer.json()) as object), operationName).toEqual(['data']);
    }
    expect((await fetch(new URL(endpoint, url))).status).toBe(401);
    const rebound = request(url, { headers: { ...additionalHeaders, host: 'elsewhere.example' } }).end();
    const [{ statusCode }] = (await once(rebound, 'response')) as [IncomingMessage];
    expect(statusCode).toBe(421);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  test('reports an error in one line', async () => {
    expect(await quickstart('--data', 'no-such-directory')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'no-such-directory does not exist\n',
    });
  });

  test.each([
    [['--data', 'no-such-directory'], 'no-such-directory does not exist'],
    [['--data', 'package.json'], 'package.json is not a directory'],
    [['--data', 'docs'], 'No .json or .json.gz files in docs'],
    [['--patients', 'many'], '--patients must be a whole number from 1 to 100000, not "many"'],
    [['--patients', '0'], '--patients must be a whole number from 1 to 100000, not "0"'],
    [['--port', '99999'], '--port must be a whole number from 0 to 65535, not "99999"'],
  ])('reports the error of %j', async (args, message) => {
    const load = async (): Promise<unknown> => {
      const { data } = parseArguments(args);
      return bundlesInDirectory(data!);
    };
    await expect(load()).rejects.toThrow(new UsageError(message));
  });

  test.runIf(IS_WHOLE)('names the file that is not JSON', async () => {
    const data = await mkdtemp(join(directory, 'bad-'));
    await writeFile(join(data, 'bad.json'), '{"resourceType": "Bundle", }');
    const { code, stderr } = await quickstart('--data', data, '--db', join(directory, 'bad.db'));
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `${join(data, 'bad.json')}: Not valid JSON: unexpected character at column 28\n`,
    });
  });
});

describe('formatJson', () => {
  test('puts values on one line if they fit', () => {
    expect(formatJson({ a: [1, null], b: {}, c: 'x' })).toBe('{ "a": [1, null], "b": {}, "c": "x" }');
  });

  test('breaks longer values, and counts omitted items', () => {
    const value = { names: ['Adeyemi', 'Andersson', 'Baker'], short: { a: 1 } };
    expect(formatJson(value, 30)).toBe(
      [
        '{',
        '  "names": [',
        '    "Adeyemi",',
        '    "Andersson",',
        '    "Baker"',
        '  ],',
        '  "short": { "a": 1 }',
        '}',
      ].join('\n'),
    );
    expect(formatJson(value, 30, 3)).toBe(['{', '  "names": [', '    "Adeyemi",', '… 5 more lines'].join('\n'));
  });
});

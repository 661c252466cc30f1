import { constants } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { FhirError, importNdjson, type NdjsonProgress } from '../../src/index.js';
import { MAX_RESOURCE_BYTES } from '../../src/store.js';
import { contents, faultOf, memoryContext } from './harness.js';
import { CHARACTER, cases } from '../support/chance.js';

const line = (id: string, more = ''): string => `{"resourceType":"Patient","id":"${id}"${more}}`;

describe('importNdjson', () => {
  test('stores one resource per line', async () => {
    const context = memoryContext();
    const result = await importNdjson(`${line('a')}\n${line('b', ',"active":true')}\n`, context);
    expect(result).toEqual({
      lines: 2,
      imported: 2,
      created: 2,
      updated: 0,
      unchanged: 0,
      failed: 0,
      bytes: 86,
      errors: [],
      stopped: false,
    });
    expect(await contents(context.store)).toEqual({
      'Patient/a': { resourceType: 'Patient', id: 'a' },
      'Patient/b': { resourceType: 'Patient', id: 'b', active: true },
    });
  });

  test('counts created, updated and unchanged resources; of two lines for one resource the later wins', async () => {
    const context = memoryContext();
    await importNdjson(`${line('a')}\n${line('b')}`, context);
    const result = await importNdjson(
      [line('a'), '\n', line('b', ',"active":true'), '\n', line('b'), '\n', line('c')],
      context,
    );
    expect(result).toMatchObject({ imported: 4, created: 1, updated: 2, unchanged: 1 });
    expect((await contents(context.store))['Patient/b']).toEqual({ resourceType: 'Patient', id: 'b' });
  });

  test('gives an id to a resource without one', async () => {
    const context = memoryContext();
    await importNdjson('{"resourceType":"Patient"}', context);
    expect(Object.keys(await contents(context.store))).toEqual([expect.stringMatching(/^Patient\/[0-9a-f-]{36}$/)]);
  });

  test('reports bad lines by number and reason, and imports the rest', async () => {
    const context = memoryContext();
    const text = [line('a'), '{"resourceType":', '', line('b'), '{"resourceType":"Nope"}', '7', line('c')].join('\n');
    const result = await importNdjson(text, context);
    expect(result).toMatchObject({ lines: 7, imported: 3, failed: 3, stopped: false });
    expect(result.errors).toEqual([
      { line: 2, reason: { code: 'invalid', message: 'Not valid JSON: it ends too early at column 17' } },
      { line: 5, reason: { code: 'invalid', message: 'Unknown resource type "Nope"' } },
      { line: 6, reason: { code: 'invalid', message: 'A resource must be a JSON object, not a number' } },
    ]);
    expect(Object.keys(await contents(context.store))).toEqual(['Patient/a', 'Patient/b', 'Patient/c']);
  });

  test('bounds the list of bad lines, not their count', async () => {
    const result = await importNdjson('x\n'.repeat(50), { ...memoryContext(), maxErrors: 7, batchLines: 3 });
    expect(result.failed).toBe(50);
    expect(result.errors.map((bad) => bad.line)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  test('with stopOnError keeps the lines before the bad line and none after it', async () => {
    const context = memoryContext();
    const result = await importNdjson(`${line('a')}\n${line('b')}\noops\n${line('c')}\n`, {
      ...context,
      stopOnError: true,
    });
    expect(result).toMatchObject({ imported: 2, failed: 1, stopped: true, errors: [{ line: 3 }] });
    expect(Object.keys(await contents(context.store))).toEqual(['Patient/a', 'Patient/b']);
  });

  test.each([
    [false, ['a', 'b', 'd', 'e'], 4],
    [true, ['a', 'b'], 2],
  ])('loses only the line that the store refuses (stopOnError: %s)', async (stopOnError, kept, imported) => {
    const context = memoryContext();
    await importNdjson(line('b'), context);
    const commit = context.store.commit.bind(context.store);
    context.store.commit = (writes) =>
      writes.some((write) => write.kind === 'put' && write.key.id === 'c')
        ? Promise.reject(new FhirError('unprocessable', 'No c'))
        : commit(writes);
    const result = await importNdjson(
      ['a', 'b', 'c', 'd', 'e'].map((id) => `${line(id)}\n`),
      { ...context, stopOnError },
    );
    expect(result).toMatchObject({
      imported,
      unchanged: 1,
      failed: 1,
      errors: [{ line: 3, reason: { code: 'unprocessable', message: 'No c' } }],
    });
    expect(Object.keys(await contents(context.store))).toEqual(kept.map((id) => `Patient/${id}`));
  });

  test('commits in batches of lines or bytes and reports each', async () => {
    const context = memoryContext();
    const commits = vi.spyOn(context.store, 'commit');
    const told: NdjsonProgress[] = [];
    const lines = Array.from({ length: 10 }, (_, index) => `${line(`p${index}`)}\n`);
    await importNdjson(lines, { ...context, batchLines: 4, onProgress: (progress) => told.push(progress) });
    expect(commits).toHaveBeenCalledTimes(3);
    expect(told.map(({ lines, imported }) => [lines, imported])).toEqual([
      [4, 4],
      [8, 8],
      [10, 10],
    ]);
    await importNdjson(
      lines.map((text) => text.replace('}', ',"active":true}')),
      { ...context, batchBytes: 1 },
    );
    expect(commits).toHaveBeenCalledTimes(13);
  });

  test('reads on from the source only after the batch is stored, if a bad line ends it', async () => {
    const context = memoryContext();
    let stored = 0;
    const { commit } = context.store;
    context.store.commit = async (...call) => {
      const results = await commit.apply(context.store, call);
      stored += results.length;
      return results;
    };
    const storedAtPull: number[] = [];
    async function* source(): AsyncGenerator<string> {
      for (let index = 0; index < 6; index++) {
        storedAtPull.push(stored);
        await Promise.resolve();
        yield `${line(`p${index}`)}\n`;
      }
    }
    await importNdjson(source(), { ...context, batchLines: 2, stopOnError: true });
    expect(storedAtPull).toEqual([0, 0, 2, 2, 4, 4]);
  });

  test('refuses a line that is too long without buffering it', async () => {
    const context = memoryContext();
    function* source(): Generator<string> {
      yield `${line('a')}\n{"resourceType":"Patient","id":"long","x":"`;
      for (let index = 0; index < 100; index++) yield 'x'.repeat(1000);
      yield `"}\n${line('b')}\n`;
    }
    const result = await importNdjson(source(), { ...context, maxLineBytes: 5000 });
    expect(result.errors).toEqual([
      {
        line: 2,
        reason: { code: 'too-costly', message: 'The line is longer than 5000 bytes; raise maxLineBytes to import it' },
      },
    ]);
    expect(Object.keys(await contents(context.store))).toEqual(['Patient/a', 'Patient/b']);
  });

  test('refuses a line that is longer than any string, with any limit of the host, and continues after it', async () => {
    const context = memoryContext();
    const piece = Buffer.alloc(1 << 20, 'x');
    const pieces = Math.ceil(constants.MAX_STRING_LENGTH / piece.length) + 1;
    const before = process.memoryUsage().arrayBuffers;
    let held = 0;
    function* source(): Generator<string | Uint8Array> {
      yield `${line('a')}\n{"resourceType":"Patient","id":"long","x":"`;
      for (let index = 0; index < pieces; index++) {
        yield piece;
        if (index % 32 === 0) held = Math.max(held, process.memoryUsage().arrayBuffers - before);
      }
      yield `"}\n${line('b')}\n`;
    }
    const result = await importNdjson(source(), { ...context, maxLineBytes: Number.MAX_SAFE_INTEGER });
    const message = 'The line is longer than 134217728 bytes, the most that a resource may have';
    expect(result.errors).toEqual([{ line: 2, reason: { code: 'too-costly', message } }]);
    expect(Object.keys(await contents(context.store))).toEqual(['Patient/a', 'Patient/b']);
    expect(held).toBeLessThan(2 * MAX_RESOURCE_BYTES);
  });

  test('refuses bytes that are not UTF-8 instead of changing them', async () => {
    const bytes = Buffer.concat([
      Buffer.from('{"resourceType":"Patient","id":"a","x":"'),
      Buffer.from([0xff]),
      Buffer.from(`"}\n${line('b')}`),
    ]);
    const result = await importNdjson(bytes, memoryContext());
    expect(result).toMatchObject({
      imported: 1,
      errors: [{ line: 1, reason: { message: 'The line is not valid UTF-8' } }],
    });
  });

  test('reads web streams', async () => {
    const stream = new Blob([`\uFEFF${line('a')}\r\n\r\n`, line('b')]).stream();
    expect(await importNdjson(stream, memoryContext())).toMatchObject({ lines: 3, imported: 2, failed: 0 });
  });

  test('passes on errors of the source', async () => {
    function* source(): Generator<string> {
      yield `${line('a')}\n`;
      throw new RangeError('disk');
    }
    await expect(importNdjson(source(), memoryContext())).rejects.toThrowError(new RangeError('disk'));
  });

  test('ends on an abort even while it waits for the source, and closes the source', async () => {
    const context = memoryContext();
    const abort = new AbortController();
    let closed = false;
    const written = Promise.withResolvers<undefined>();
    context.store.watch('clinic', () => written.resolve(undefined));
    const source: AsyncIterable<string> = {
      [Symbol.asyncIterator]: () => {
        let first = true;
        return {
          next: () => {
            if (!first) return new Promise(() => void written.promise.then(() => abort.abort()));
            first = false;
            return Promise.resolve({ done: false, value: `${line('a')}\n` });
          },
          return: () => {
            closed = true;
            return Promise.resolve({ done: true, value: undefined });
          },
        };
      },
    };
    const fault = await faultOf(importNdjson(source, { ...context, batchLines: 1, signal: abort.signal }));
    expect(fault.code).toBe('aborted');
    expect(closed).toBe(true);
    expect(Object.keys(await contents(context.store))).toEqual(['Patient/a']);
  });

  test.each([[undefined], [7], [{}]])('refuses %s as a source', async (source) => {
    expect((await faultOf(importNdjson(source as never, memoryContext()))).code).toBe('invalid');
  });

  test('refuses chunks that are neither text nor bytes, invalid limits, and a missing caller', async () => {
    expect((await faultOf(importNdjson([7] as never, memoryContext()))).code).toBe('invalid');
    expect((await faultOf(importNdjson('', { ...memoryContext(), batchLines: 0 }))).message).toContain('batchLines');
    expect((await faultOf(importNdjson('', { store: memoryContext().store } as never))).code).toBe('unauthenticated');
  });
});

test('gives the same result for any division of the source into chunks', async () => {
  const text = fc.array(
    fc.oneof(
      fc
        .stringMatching(/^[a-z]{1,3}$/)
        .chain((id) =>
          fc
            .string({ unit: CHARACTER, maxLength: 6 })
            .map((name) => JSON.stringify({ resourceType: 'Patient', id, name: [{ text: name }] })),
        ),
      fc.constantFrom('', '  ', '{', '"\uD83D\uDE00"', '{"resourceType":"Nope"}'),
    ),
    { maxLength: 8 },
  );
  await fc.assert(
    fc.asyncProperty(
      text,
      fc.constantFrom('\n', '\r\n'),
      fc.boolean(),
      fc.array(fc.nat(), { maxLength: 12 }),
      fc.boolean(),
      fc.integer({ min: 1, max: 4 }),
      async (lines, lineEnd, lastEnd, cuts, asBytes, batchLines) => {
        const whole = lines.join(lineEnd) + (lastEnd ? lineEnd : '');
        const wanted = memoryContext();
        const expected = await importNdjson(whole, { ...wanted, batchLines });

        const cut = memoryContext();
        const chunks = asBytes ? cutBytes(Buffer.from(whole), cuts) : cutText(whole, cuts);
        expect(await importNdjson(chunks, { ...cut, batchLines })).toEqual(expected);
        expect(await contents(cut.store)).toEqual(await contents(wanted.store));
        expect(expected.bytes).toBe(Buffer.byteLength(whole));
      },
    ),
    { numRuns: cases(60, 10) },
  );
});

function* cutText(text: string, cuts: readonly number[]): Generator<string> {
  let start = 0;
  for (const end of positions(cuts, text.length)) {
    yield text.slice(start, end);
    start = end;
  }
}

/** One buffer used again for all chunks, as some sources do. */
function* cutBytes(bytes: Uint8Array, cuts: readonly number[]): Generator<Uint8Array> {
  const buffer = new Uint8Array(bytes.length);
  let start = 0;
  for (const end of positions(cuts, bytes.length)) {
    buffer.fill(0);
    buffer.set(bytes.subarray(start, end));
    yield buffer.subarray(0, end - start);
    start = end;
  }
}

function positions(cuts: readonly number[], length: number): readonly number[] {
  return [...cuts.map((cut) => cut % (length + 1)).sort((a, b) => a - b), length];
}

import { describe, expect, test } from 'vitest';
import { type Answer, type Ask, ask, runAwaiting, runNow } from '../../src/stores/ask.js';

interface Port {
  rows(names: readonly string[]): Answer<readonly string[]>;
}

const port = {
  asked: [] as (readonly string[])[],
  rows(names: readonly string[]): readonly string[] {
    port.asked.push(names);
    return names.map((name) => `${name}!`);
  },
};
const later: Port = { rows: async (names) => port.rows(names) };

/** Asks twice, and pauses in between. */
function* shout(log: string[] = []): Ask<Port, string> {
  try {
    const rows = yield* ask((one: Port) => one.rows(['a', 'b']));
    yield;
    const [row] = yield* ask((one: Port) => one.rows([rows[1]!]));
    return `${rows[0]} ${row}`;
  } finally {
    log.push('ended');
  }
}

/** A pace that counts its turns. */
function pace(isSpent: boolean): { readonly isSpent: boolean; turns: number; next(): Promise<void> } {
  return {
    isSpent,
    turns: 0,
    next: async function () {
      this.turns++;
    },
  };
}

describe('steps that ask their store', () => {
  test('run at once, or await each answer, with the same result', async () => {
    expect(runNow(shout(), port)).toBe('a! b!!');
    expect(await runAwaiting(shout(), later, pace(false))).toBe('a! b!!');
  });

  test('ask for several names by one question', () => {
    port.asked.length = 0;
    runNow(shout(), port);
    expect(port.asked).toEqual([['a', 'b'], ['b!']]);
  });

  test('let other work run at a pause, once a turn is spent', async () => {
    const [spent, fresh] = [pace(true), pace(false)];
    await runAwaiting(shout(), later, spent);
    await runAwaiting(shout(), later, fresh);
    expect([spent.turns, fresh.turns]).toEqual([1, 0]);
  });

  test('end where the check throws, after their own cleaning up', async () => {
    for (const calls of [0, 1, 2]) {
      let left = calls;
      const check = (): void => {
        if (left-- === 0) throw new Error('too late');
      };
      const log: string[] = [];
      expect(() => runNow(shout(log), port, check)).toThrow('too late');
      left = calls;
      await expect(runAwaiting(shout(log), later, pace(false), check)).rejects.toThrow('too late');
      expect(log).toEqual(['ended', 'ended']);
    }
  });

  test('get the error of a question where they ask it', async () => {
    function* careful(): Ask<Port, string> {
      try {
        return String(yield* ask((one: Port) => one.rows([])));
      } catch (error) {
        return `caught ${(error as Error).message}`;
      }
    }
    const failing = {
      rows(): readonly string[] {
        throw new Error('no rows');
      },
    };
    expect(runNow(careful(), failing)).toBe('caught no rows');
    expect(await runAwaiting(careful(), { rows: async () => failing.rows() }, pace(false))).toBe('caught no rows');
  });

  test('refuse a promise where they run at once', () => {
    expect(() => runNow(shout(), later as typeof port)).toThrow('answers at once');
  });
});

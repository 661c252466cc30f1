import { expect, test } from 'vitest';
import { memberOf, MEMBERS } from '../../src/graphql/execute/member.js';

test('each member is read and written by its own name', () => {
  const names = Object.keys(MEMBERS);
  const all = Object.fromEntries(names.map((name) => [name, `a ${name}`]));
  for (const name of [...names, 'other', 'constructor']) {
    const { get, set } = memberOf(name);
    expect(get({ ...all, other: 1 }), name).toBe(name === 'other' ? 1 : (all[name] ?? Object));
    const out = {};
    set(out, name);
    expect(Object.entries(out)).toEqual([[name, name]]);
  }
});

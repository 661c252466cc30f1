import { expect, test } from 'vitest';
import { memberOf, MEMBERS, OTHER, TEXTS } from '../../src/graphql/execute/member.js';

test('each member is read and written under its own name', () => {
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

test('each text is copied under its own name, or null if it is missing; other values are left to the writer', () => {
  for (const [name, copy] of Object.entries(TEXTS)) {
    for (const [value, written] of [
      ['a', 'a'],
      ['', ''],
      [undefined, null],
      ...[null, 1, false, {}, ['a']].map((other) => [other, OTHER]),
    ]) {
      const out = {};
      expect(copy({ [name]: value, other: 'b' }, out), name).toBe(written);
      expect(Object.entries(out)).toEqual([[name, written]]);
    }
  }
});

import { describe, expect, it } from 'vitest';
import { collationKey, fold } from '../../src/store.js';
import { createRandom, oneOf } from '../support/kit.js';
import { caseFold } from '../../src/search/index/fold.js';
import { cases, SEED } from '../support/chance.js';

/** Every character of Unicode that has a case, an accent or a compatibility form, or is no letter. */
const UNUSUAL = [...unusual()];

function* unusual(): Generator<string> {
  for (let code = 0; code <= 0x10_ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const one = String.fromCodePoint(code);
    const isPlain = one === one.toUpperCase() && one === one.toLowerCase() && one === one.normalize('NFKD');
    if (!isPlain || !/[\p{L}\p{Unassigned}\p{Private_Use}]/u.test(one)) yield one;
  }
}

describe('folding', () => {
  it('is the same for every character in either case and in each form of Unicode', () => {
    for (const one of UNUSUAL) {
      const key = collationKey(one);
      const others = [one.toUpperCase(), one.toLowerCase(), one.normalize('NFC'), one.normalize('NFD'), key];
      for (const other of others) {
        if (collationKey(other) !== key) expect([one, other, collationKey(other)]).toEqual([one, other, key]);
      }
      const folded = fold(one);
      if (fold(folded) !== folded) expect([one, fold(folded)]).toEqual([one, folded]);
    }
  });

  it(`is the same for texts in either case (seed ${SEED})`, () => {
    const random = createRandom(SEED);
    for (let n = 0; n < cases(20_000, 2_000); n++) {
      const text = Array.from({ length: 6 }, () =>
        random() < 0.3 ? oneOf([...'aSi -'], random) : oneOf(UNUSUAL, random),
      );
      const whole = text.join('');
      const folded = fold(whole);
      expect([whole, fold(whole.toUpperCase()), fold(whole.toLowerCase())]).toEqual([whole, folded, folded]);
      expect([whole, fold(folded), fold(whole.normalize('NFD'))]).toEqual([whole, folded, folded]);
    }
  });

  it('leaves something of letters, numbers and symbols, except of apostrophes and forms of marks', () => {
    const isException =
      /[`´ʹ-ʿˈ\u0374\u1fef\u1ffdꞋꞌ\ufc5e-\ufc63\ufe70\ufe72\ufe74\ufe76\ufe78\ufe7a\ufe7c\ufe7e\uff9e\uff9f]/;
    for (const one of UNUSUAL) {
      if (!/[\p{L}\p{N}\p{S}]/u.test(one) || /\p{Default_Ignorable_Code_Point}/u.test(one)) continue;
      expect([one, fold(one) === '']).toEqual([one, isException.test(one)]);
    }
  });

  it('leaves nothing of accents, punctuation and blanks', () => {
    for (const one of UNUSUAL) {
      // The iota below a Greek letter is a letter in upper case.
      if (one === '\u0345' || !/[\p{M}\p{P}\s\p{Cc}\p{Default_Ignorable_Code_Point}]/u.test(one)) continue;
      expect([one, fold(one)]).toEqual([one, '']);
    }
  });

  it.each([
    ['Groß', 'GROSS'],
    ['STRAẞE', 'straße'],
    ['ﬁnch', 'FINCH'],
    ['ĳssel', 'IJSSEL'],
    ['Işık', 'IŞIK'],
    ['İzmir', 'izmir'],
    ['ısparta', 'ISPARTA'],
    ['ΟΔΟΣ', 'οδοσ'],
    ['ᾳ', 'ΑΙ'],
    ['Donau\u00admann', 'donaumann'],
    ['Alpha\u200bville', 'alphaville'],
    ['\u200fמשה\u200e', 'משה'],
    ['Kahoʻolawe', "kaho'olawe"],
    ['O´Neil', "o'neil"],
    ['D′Angelo', 'd’angelo'],
    ['ﾊﾟﾘ', 'パリ'],
  ])('is the same for %s and %s', (one, other) => {
    expect(fold(one)).toBe(fold(other));
  });

  it.each([
    ['+', '-5'],
    ['10⁹', '109'],
    ['ss', 's'],
    ['<5', '>5'],
    ['☺', '★'],
  ])('tells %s from %s', (one, other) => {
    expect(fold(one)).not.toBe(fold(other));
  });

  it('of tokens ignores case alone', () => {
    expect([caseFold('Straße'), caseFold('É-1'), caseFold('\u200b')]).toEqual(['strasse', 'é-1', '\u200b']);
  });
});

import { skipSpace } from './json-values.js';

/**
 * Finds the first syntax error of a JSON text: the offset of the first unexpected character, or the text's length if it
 * ends too early. JavaScript engines report offsets in some of their messages only.
 *
 * @returns undefined for valid JSON. See RFC 8259.
 */
export function findJsonFault(text: string): number | undefined {
  let at = skipSpace(text, 0);
  /** The closing bracket of each open bracket. */
  const open: ('}' | ']')[] = [];
  /** The token expected next. */
  let state: 'value' | 'first-item' | 'first-name' | 'name' | 'after' = 'value';
  for (;;) {
    const char = text[at];
    if (state === 'after') {
      const closing = open.at(-1);
      if (closing === undefined) return at === text.length ? undefined : at;
      if (char === ',') state = closing === '}' ? 'name' : 'value';
      else if (char === closing) open.pop();
      else return at;
      at = skipSpace(text, at + 1);
      continue;
    }
    if ((state === 'first-item' && char === ']') || (state === 'first-name' && char === '}')) {
      open.pop();
      state = 'after';
      at = skipSpace(text, at + 1);
      continue;
    }
    if (state === 'name' || state === 'first-name') {
      if (char !== '"') return at;
      const end = stringEnd(text, at);
      if (end < 0) return -end - 1;
      at = skipSpace(text, end);
      if (text[at] !== ':') return at;
      at = skipSpace(text, at + 1);
      state = 'value';
      continue;
    }
    if (char === '{' || char === '[') {
      open.push(char === '{' ? '}' : ']');
      state = char === '{' ? 'first-name' : 'first-item';
      at = skipSpace(text, at + 1);
      continue;
    }
    const end = scalarEnd(text, at);
    if (end < 0) return -end - 1;
    state = 'after';
    at = skipSpace(text, end);
  }
}

/** Returns the offset after a string, number or word; for a fault at offset n, `-n - 1`. */
function scalarEnd(text: string, at: number): number {
  if (text[at] === '"') return stringEnd(text, at);
  for (const word of ['true', 'false', 'null']) {
    if (text[at] !== word[0]) continue;
    for (let index = 1; index < word.length; index++) if (text[at + index] !== word[index]) return -(at + index) - 1;
    return at + word.length;
  }
  return numberEnd(text, at);
}

/** The end of a string, an escape, or a character that a string must not have. */
// eslint-disable-next-line no-control-regex -- the control characters are meant
const SPECIAL = /["\\\u0000-\u001f]/g;

function stringEnd(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    // A text may have millions of characters.
    SPECIAL.lastIndex = at;
    at = SPECIAL.test(text) ? SPECIAL.lastIndex - 1 : text.length;
    if (text[at] === '"') return at + 1;
    if (text[at] !== '\\') return -at - 1;
    at++;
    if (text[at] === 'u') {
      for (let digit = 1; digit <= 4; digit++)
        if (!/^[0-9a-f]$/i.test(text[at + digit] ?? '')) return -(at + digit) - 1;
      at += 4;
    } else if (!/^["\\/bfnrt]$/.test(text[at] ?? '')) {
      return -at - 1;
    }
  }
}

function numberEnd(text: string, start: number): number {
  let at = text[start] === '-' ? start + 1 : start;
  const digits = (): boolean => {
    const first = at;
    while (isDigit(text[at])) at++;
    return at > first;
  };
  if (text[at] === '0') at++;
  else if (!digits()) return -at - 1;
  if (text[at] === '.') {
    at++;
    if (!digits()) return -at - 1;
  }
  if (text[at] === 'e' || text[at] === 'E') {
    at++;
    if (text[at] === '+' || text[at] === '-') at++;
    if (!digits()) return -at - 1;
  }
  return at;
}

function isDigit(char: string | undefined): boolean {
  return char !== undefined && char >= '0' && char <= '9';
}

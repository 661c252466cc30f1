/** Longest name in a message, in characters. Names are chosen by people; prose does not belong there. */
const MAX_LENGTH = 100;

/**
 * A name as it may appear in a message: on one line, without invisible characters, and only if no mail client could
 * turn a part of it into a link. Otherwise anybody could send links in the service's name by choosing such a name.
 *
 * | refused | such as |
 * |---|---|
 * | a dot inside a word with two or more characters after it | `evil.example`, `evil。example/x`, `1.2.3.44` |
 * | `www.`, four numbers with dots, a dot and a slash in one word | `www.x`, `1.2.3.4`, `t.c/x` |
 * | a scheme, or a colon inside a word | `http://x`, `mailto:x`, `localhost:80` |
 * | `//`, a backslash, `::`, an at sign inside a word | `//x`, `\\x\y`, `ann@x` |
 * | nine or more digits, as in telephone numbers | `+1 800 555 0199` |
 *
 * Lookalikes of these characters count too. Initials and abbreviations are allowed: `J.R. Smith`, `St. Mary's`, `Verein
 * e.V.`, `Ward 24/7`.
 *
 * @returns undefined if the name is not presentable; word the message without it
 *
 * @example
 * const inviter = nameForMessage(facts.invitedBy?.display ?? '') ?? 'A colleague';
 */
export function nameForMessage(text: string): string | undefined {
  const line = shortened(oneLine(text));
  return line === '' || couldBeLink(line) ? undefined : line;
}

/** Removes line breaks, control and invisible characters, which could start a header or reverse text. */
function oneLine(text: string): string {
  return text
    .replace(/[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/\p{Zs}+/gu, ' ')
    .trim();
}

function shortened(text: string): string {
  const characters = [...text];
  return characters.length <= MAX_LENGTH ? text : `${characters.slice(0, MAX_LENGTH - 1).join('')}…`;
}

function couldBeLink(line: string): boolean {
  // Browsers normalize addresses this way (UTS #46), so other dots, slashes and colons count too.
  const text = line.normalize('NFKD').replace(/\p{M}/gu, '').replaceAll('\u3002', '.');
  return TELEPHONE.test(text) || text.split(/\s+/u).some(isLinkLike);
}

const TELEPHONE = /\d(?:[\s()./-]{0,2}\d){8}/u;

function isLinkLike(word: string): boolean {
  return (
    ['//', '\\', '::'].some((sign) => word.includes(sign)) ||
    (word.includes('.') && word.includes('/')) ||
    /[^.]@[^.]/u.test(word) ||
    hasScheme(word) ||
    hasDomain(word)
  );
}

/** A colon with letters before it and something behind it; other colons may be before them. */
function hasScheme(word: string): boolean {
  const letter = word.search(/\p{L}/u);
  const colon = letter < 0 ? -1 : word.indexOf(':', letter);
  return colon > 0 && /[\p{L}\p{N}/%+]/u.test(word.slice(colon + 1));
}

/** A dot with something before it and two characters of a label behind it; `www.`; the dots of an IP address. */
function hasDomain(word: string): boolean {
  const [first = '', ...labels] = word.split('.');
  return (
    labels.some((label, index) => (index > 0 || first !== '') && /^[^\s,;:!?"')\]-][^\s,;:!?"')\]]/u.test(label)) ||
    /(?<![\p{L}\p{N}])www\./iu.test(word) ||
    /(?:\d{1,3}\.){3}\d/u.test(word)
  );
}

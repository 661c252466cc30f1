import type { PrimitiveProblem } from './findings.js';

/**
 * Checks the `div` of a narrative: well-formed XML, one `div` of the XHTML namespace, nothing but the formatting
 * elements and attributes that FHIR allows (txt-1), and some content (txt-2).
 *
 * A single pass over the text, in linear time. See https://hl7.org/fhir/R4/narrative.html#xhtml.
 */
export function checkXhtml(value: unknown): PrimitiveProblem | undefined {
  return typeof value === 'string' ? new XhtmlScanner(value).scan() : malformed('a string');
}

/** Maximum number of tags and comments, which take about 30 ms. */
const MAX_MARKUP = 100_000;

const NAMESPACE = 'http://www.w3.org/1999/xhtml';

const ELEMENTS = words(
  'a abbr acronym address area b bdo big blockquote br caption cite code col colgroup dd dfn div dl dt em h1 h2 h3 h4 h5 h6 ' +
    'hr i img kbd li map ol p pre q samp small span strong sub sup table tbody td tfoot th thead tr tt ul var',
);
const ATTRIBUTES = words(
  'title style class id lang xml:lang xml:space dir accesskey tabindex span width align valign char charoff abbr axis headers ' +
    'scope rowspan colspan',
);
const ATTRIBUTES_OF: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['a', words('href name charset type hreflang rel rev shape coords')],
  ['area', words('shape coords href nohref alt')],
  ['blockquote', words('cite')],
  ['div', words('xmlns')],
  ['img', words('src alt longdesc height border usemap ismap')],
  ['map', words('name')],
  ['pre', words('space')],
  ['q', words('cite')],
  ['table', words('summary border frame rules cellspacing cellpadding')],
  ['td', words('nowrap')],
  ['th', words('nowrap')],
]);
const LINKS = words('href src cite longdesc usemap');

const TAG = /<(\/?)([A-Za-z][\w:.-]*)/y;
const ATTRIBUTE = /[ \t\r\n]+([A-Za-z_][\w:.-]*)[ \t\r\n]*=[ \t\r\n]*(?:"([^"<]*)"|'([^'<]*)')/y;
const TAG_END = /[ \t\r\n]*(\/?)>/y;
/** Only the entities that XML declares are allowed, not those of HTML (`&nbsp;`). */
const BAD_ENTITY_MARK = /&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[\da-f]{1,6});)/i;
/** Browsers ignore case here, and blanks and line breaks do not hide the scheme. */
const SCRIPT_URL = /^(?:javascript|vbscript|data:text)/i;

class XhtmlScanner {
  readonly #text: string;
  #position = 0;
  /** Names of the open elements. */
  readonly #open: string[] = [];
  #rootSeen = false;
  #hasContent = false;

  constructor(text: string) {
    this.#text = text;
  }

  scan(): PrimitiveProblem | undefined {
    for (let read = 0; ; read++) {
      if (read > MAX_MARKUP) return TOO_MUCH;
      const problem = this.#characters();
      if (problem !== undefined) return problem;
      if (this.#position === this.#text.length) return this.#end();
      const broken = this.#text.startsWith('<!--', this.#position) ? this.#comment() : this.#tag();
      if (broken !== undefined) return broken;
    }
  }

  #end(): PrimitiveProblem | undefined {
    if (!this.#rootSeen) return NO_ROOT;
    if (this.#open.length > 0) return malformed('well-formed XHTML (an element is not closed)');
    return this.#hasContent ? undefined : NO_CONTENT;
  }

  /** Text up to the next markup. */
  #characters(): PrimitiveProblem | undefined {
    const next = this.#text.indexOf('<', this.#position);
    const text = this.#text.slice(this.#position, next < 0 ? this.#text.length : next);
    this.#position += text.length;
    if (/[^ \t\r\n]/.test(text)) {
      if (this.#open.length === 0) return NO_ROOT;
      this.#hasContent = true;
    }
    return BAD_ENTITY_MARK.test(text) ? BAD_ENTITY : undefined;
  }

  /** Rejects, in addition to malformed XML, a beginning that HTML parsers take for the end of the comment. */
  #comment(): PrimitiveProblem | undefined {
    const start = this.#position + 4;
    const end = this.#text.indexOf('--', start);
    if (end < 0 || this.#text[end + 2] !== '>' || /^-?>/.test(this.#text.slice(start, start + 2))) {
      return malformed('well-formed XHTML (a comment is broken)');
    }
    this.#position = end + 3;
    return undefined;
  }

  #tag(): PrimitiveProblem | undefined {
    const [, slash, name] = this.#match(TAG) ?? [];
    if (name === undefined) return malformed('well-formed XHTML without declarations and processing instructions');
    if (slash === '/') return this.#endTag(name);
    if (this.#open.length === 0 && (this.#rootSeen || name !== 'div')) return NO_ROOT;
    if (!ELEMENTS.has(name)) return NOT_ALLOWED;
    const isRoot = this.#open.length === 0;
    const attributes: string[] = [];
    const problem = this.#attributes(name, attributes);
    if (problem !== undefined) return problem;
    const end = this.#match(TAG_END);
    if (end === null) return malformed('well-formed XHTML (a tag is broken)');
    if (isRoot && !attributes.includes('xmlns')) return NO_ROOT;
    this.#rootSeen = true;
    if (name === 'img') this.#hasContent = true;
    if (end[1] === '') this.#open.push(name);
    return undefined;
  }

  /** @param receives the names of the attributes found; only allowed names are added, so the list stays short */
  #attributes(element: string, names: string[]): PrimitiveProblem | undefined {
    for (let found = this.#match(ATTRIBUTE); found !== null; found = this.#match(ATTRIBUTE)) {
      const name = found[1]!;
      if (names.includes(name)) return malformed('well-formed XHTML (an attribute is given twice)');
      const problem = attributeProblem(element, name, found[2] ?? found[3] ?? '');
      if (problem !== undefined) return problem;
      names.push(name);
    }
    return undefined;
  }

  #endTag(name: string): PrimitiveProblem | undefined {
    if (this.#open.pop() !== name || this.#match(TAG_END)?.[1] !== '') {
      return malformed('well-formed XHTML (an end tag does not fit its start tag)');
    }
    return undefined;
  }

  /** Matches a sticky expression at the current position and advances past the match. */
  #match(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.#position;
    const match = expression.exec(this.#text);
    if (match !== null) this.#position = expression.lastIndex;
    return match;
  }
}

const NO_ROOT = malformed(`one div element of the namespace ${NAMESPACE}`);
const BAD_ENTITY = malformed('well-formed XHTML (of the named entities only &amp; &lt; &gt; &quot; &apos; exist)');
const NOT_ALLOWED: PrimitiveProblem = {
  code: 'invariant',
  expectation: 'basic formatting only, without scripts, forms, frames and event attributes (txt-1)',
};
const TOO_MUCH: PrimitiveProblem = {
  code: 'too-costly',
  expectation: `XHTML with at most ${MAX_MARKUP} tags and comments`,
};
const NO_CONTENT: PrimitiveProblem = { code: 'invariant', expectation: 'XHTML with some text or an image (txt-2)' };

function malformed(expectation: string): PrimitiveProblem {
  return { code: 'value', expectation };
}

function attributeProblem(element: string, attribute: string, value: string): PrimitiveProblem | undefined {
  if (BAD_ENTITY_MARK.test(value)) return BAD_ENTITY;
  if (!ATTRIBUTES.has(attribute) && ATTRIBUTES_OF.get(element)?.has(attribute) !== true) return NOT_ALLOWED;
  if (attribute === 'xmlns' && value !== NAMESPACE) return NO_ROOT;
  return LINKS.has(attribute) && isScript(value) ? NOT_ALLOWED : undefined;
}

function isScript(url: string): boolean {
  return SCRIPT_URL.test(withoutReferences(url).replace(/[\s\p{Cc}]+/gu, ''));
}

/** Resolves character references: `&#106;avascript:` is a script too. */
function withoutReferences(text: string): string {
  return text.replace(/&#(?:x([\da-f]{1,6})|(\d{1,7}));/gi, (_, hexadecimal?: string, decimal?: string) => {
    const point = hexadecimal === undefined ? Number(decimal) : Number.parseInt(hexadecimal, 16);
    return point <= 0x10ffff ? String.fromCodePoint(point) : '';
  });
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(' '));
}

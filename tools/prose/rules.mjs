import { TICS } from './tics.mjs';

/** Longest sentence, in words. */
const MAX_WORDS = 45;
/** Longest average sentence of a document with at least twenty sentences, in words. */
const MAX_AVERAGE = 22;

/** Textlint rules of this project. See https://textlint.github.io/docs/rule.html. */
export const RULES = {
  tics({ Syntax, RuleError, report, getSource }) {
    return {
      [Syntax.Str](node) {
        const text = getSource(node);
        for (const [pattern, better] of TICS) {
          const match = pattern.exec(text);
          if (match !== null) {
            report(node, new RuleError(`"${match[0]}": write ${better}`, { index: match.index }));
          }
        }
      },
    };
  },

  'sentence-length'({ Syntax, RuleError, report, getSource }) {
    return {
      [Syntax.Paragraph](node) {
        for (const sentence of sentencesOf(textOf(node, getSource))) {
          const words = wordsOf(sentence);
          if (words > MAX_WORDS) {
            report(
              node,
              new RuleError(`${words} words in one sentence, at most ${MAX_WORDS}: "${sentence.slice(0, 60)}…"`),
            );
          }
        }
      },
    };
  },

  readability({ Syntax, RuleError, report, getSource }) {
    const counts = [];
    return {
      [Syntax.Paragraph](node) {
        counts.push(...sentencesOf(textOf(node, getSource)).map(wordsOf));
      },
      [Syntax.DocumentExit](node) {
        if (counts.length < 20) return;
        const average = counts.reduce((sum, count) => sum + count, 0) / counts.length;
        if (average > MAX_AVERAGE) {
          report(node, new RuleError(`${average.toFixed(1)} words in the average sentence, at most ${MAX_AVERAGE}`));
        }
      },
    };
  },
};

/** The prose of a paragraph: code and pictures count as nothing. */
function textOf(node, getSource) {
  if (node.type === 'Code' || node.type === 'Html' || node.type === 'Image') return '·';
  if (node.children === undefined) return getSource(node);
  return node.children.map((child) => textOf(child, getSource)).join('');
}

function sentencesOf(text) {
  return text
    .replaceAll(/\b(?:e\.g|i\.e|etc)\./g, '')
    .split(/(?<=[.!?]["')\]]?)\s+(?=\S)/)
    .filter((sentence) => /\w/.test(sentence));
}

function wordsOf(sentence) {
  return (sentence.match(/[\p{L}\p{N}][^\s]*/gu) ?? []).length;
}

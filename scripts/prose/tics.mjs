/**
 * Words and phrases that a native engineer would not type, and what to write instead. Each needs a reason to be here:
 * archaic words, copula negation, inverted clauses, passives without an agent, and filler.
 */
export const TICS = [
  [/\banew\b/i, 'again'],
  [/\bbesides\b/i, 'also, or "in addition to"'],
  [/\bmeanwhile\b/i, 'while …, or in between'],
  [/\b(?:is|are|was|were|be|been|being) told\b/i, 'learns, receives, or say who reports'],
  [/\btold (?:apart|from)\b/i, 'distinguished'],
  [/(?<!\b[Tt]here )\b(?:is|are|was|were) none\b/i, 'does not exist, or "no …"'],
  [
    /(?<!\b[Tt]here )\b(?:is|are|was|were) no(?! (?:longer|more|less|fewer|earlier|later|such|need|way|reason|other))\b(?=\s+\w)/i,
    '"is not a", or "has no"',
  ],
  [/\bstand(?:s|ing)? (?:in|on|at|beside|behind|below|above|there)\b/i, 'is in, is for'],
  [/\bstood\b/i, 'was'],
  [/\b(?:whoever|whatever|whichever)\b(?! (?:the|its|their)\b)/i, 'name the subject'],
  [
    /(?:^|[.:;] )(?:Only )?who (?!is\b|are\b|may\b|can\b|did\b|does\b|asks\b|has\b|signs\b|uses\b|comes\b|owns\b|calls\b|reads\b)[a-z]+[^?]*$/,
    'name the subject: callers who …',
  ],
  [/\bmend(?:s|ed|ing)?\b/i, 'fix'],
  [/\bheeds?\b|\bheeded\b/i, 'follow, respect'],
  [/\bthereof\b|\bthereby\b|\bwhereby\b|\bwherein\b|\bhitherto\b|\bhence\b|\bthus\b/i, 'plain words'],
  [/\blest\b/i, 'so that … not'],
  [/\bwhereof\b|\bwhereupon\b|\bhereof\b/i, 'plain words'],
  [/\bshall\b/i, 'must, should or will'],
  [/\bbut for\b/i, 'except'],
  [/\bsave for\b/i, 'except'],
  [/\bnot a few\b|\bno few\b/i, 'several'],
  [/\bas ever\b/i, 'as always, or nothing'],
  [/\bnought\b|\baught\b/i, 'nothing, anything'],
  [/\bthe one and the same\b|\bone and the same\b/i, 'the same'],
  [/\bby (?:itself|themselves) alone\b/i, 'alone'],
  [/\bmisspelt\b/i, 'misspelled'],
  [/\bas often as\b/i, 'every time, or how often'],
  [/\bwhat (?:was|is) (?:given|asked|stored|said)\b/i, 'the domain noun'],
  [/\bin order to\b/i, 'to'],
  [/\bplease\b/i, 'nothing'],
  [/\bsimply\b|\bjust\b(?! (?:as|like))/i, 'nothing'],
  [/\b(?:obviously|of course|needless to say)\b/i, 'nothing'],
  [/\butili[sz]e[sd]?\b/i, 'use'],
];

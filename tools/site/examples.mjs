/** A page with a block ```json resources``` has its own data; its queries can run on the site. */
const BLOCK = /^```(\w+) ?(.*)\n([^]*?)^```$/gm;

/** @returns the data and the queries of a page, in their order; undefined for pages without data */
export function examplesOf(markdown) {
  const blocks = [...markdown.matchAll(BLOCK)].map(([, language, info, text]) => ({ language, info, text }));
  const data = blocks.filter(({ info }) => info === 'resources');
  if (data.length === 0) return undefined;
  const queries = blocks.flatMap(({ language, info, text }, index) => {
    if (language !== 'graphql') return [];
    const next = blocks[index + 1];
    return [
      {
        query: text,
        focus: /^focus=(.+)$/.exec(info)?.[1],
        limits: parse(/^limits=(.+)$/.exec(info)?.[1]),
        variables: next?.info === 'variables' ? parse(next.text) : undefined,
      },
    ];
  });
  return { resources: data.flatMap(({ text }) => JSON.parse(text)), queries };
}

function parse(json) {
  return json === undefined ? undefined : JSON.parse(json);
}

import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';

const contents = readFileSync(fileURLToPath(new URL('../contents.md', import.meta.url)), 'utf8');

export default defineConfig({
  title: 'fhirgraph',
  description: 'Embeddable FHIR R4 GraphQL with projects, people and access policies',
  base: process.env.FHIRGRAPH_SITE_BASE ?? '/',
  srcExclude: ['public/**'],
  ignoreDeadLinks: [/^\/(?:api|source)\//],
  markdown: {
    html: true,
    config(md) {
      const fence = md.renderer.rules.fence;
      md.renderer.rules.fence = (tokens, index, options, env, self) => {
        const html = fence(tokens, index, options, env, self);
        if (!tokens[index].info.startsWith('graphql')) return html;
        const page = env.relativePath.replace(/\.md$/, '');
        const number = tokens.slice(0, index).filter(({ info }) => info.startsWith('graphql')).length;
        return `${html}<RunQuery page="${page}" :number="${number}" />`;
      };
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    /** Pages whose queries run in place. */
    runnable: runnablePages(),
    nav: [
      { text: 'Tutorial', link: '/tutorial/getting-started' },
      { text: 'Contents', link: '/contents' },
      { text: 'Playground', link: '/playground' },
      { text: 'API', link: '/api/index.html', target: '_self' },
      { text: 'Changes', link: '/changelog' },
    ],
    sidebar: sidebarOf(contents),
  },
});

/** The pages that have a file of examples. */
function runnablePages() {
  const folder = fileURLToPath(new URL('../public/examples', import.meta.url));
  return globSync('**/*.json', { cwd: folder }).map((name) => name.replace(/\.json$/, ''));
}

/** The sidebar is the table of contents: its headings, and the pages below each. */
function sidebarOf(markdown) {
  return markdown
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      text: section.slice(0, section.indexOf('\n')),
      collapsed: false,
      items: [...section.matchAll(/\[([^\]]+)\]\(\.\/([^)#]+)\.md\)/g)].map(([, text, link]) => ({
        text: text.replaceAll('`', ''),
        link: `/${link}`,
      })),
    }));
}

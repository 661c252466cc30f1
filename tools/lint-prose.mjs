// Checks the English of documents, comments and messages: `npm run lint:prose [files…]`.
import { TextlintKernelDescriptor } from '@textlint/kernel';
import markdown from '@textlint/textlint-plugin-markdown';
import { globSync, readFileSync } from 'node:fs';
import { createLinter } from 'textlint';
import { RULES } from './prose/rules.mjs';
import { TypescriptProcessor } from './prose/typescript.mjs';

const FILES = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'docs/**/*.md', 'examples/**/*.md', 'src/**/*.ts'];

const given = process.argv.slice(2);
const files = (given.length > 0 ? given : FILES.flatMap((pattern) => globSync(pattern))).sort();
const linter = createLinter({
  descriptor: new TextlintKernelDescriptor({
    rules: Object.entries(RULES).map(([ruleId, rule]) => ({ ruleId, rule })),
    filterRules: [],
    plugins: [
      { pluginId: 'markdown', plugin: markdown.default ?? markdown },
      { pluginId: 'typescript', plugin: { Processor: TypescriptProcessor } },
    ],
  }),
});

let problems = 0;
for (const file of files) {
  const { messages } = await linter.lintText(readFileSync(file, 'utf8'), file);
  for (const { line, column, message, ruleId } of messages)
    console.log(`${file}:${line}:${column} ${message} (${ruleId})`);
  problems += messages.length;
}
console.log(`${files.length} files, ${problems} problems`);
if (problems > 0) process.exitCode = 1;

import { codegen } from '@graphql-codegen/core';
import * as typescript from '@graphql-codegen/typescript';
import * as operations from '@graphql-codegen/typescript-operations';
import { parse } from 'graphql';
import { ADD, CHART, PAGE, SDL } from './tool-schema.js';

const PLUGINS = { typescript, operations };
/** Scalars of the schema that codegen does not have; without this, they are `unknown`. */
const SCALARS = { JSON: 'unknown', ResourceInput: 'object', ResourceTypeName: 'string', SearchParameterName: 'string' };

/**
 * The output of graphql-codegen for the schema and the documents of tool-schema.ts: `generated-schema.ts` and
 * `generated-operations.ts` as texts in test/tools. There are two files because its two plugins both write input types.
 */
export async function generateTypes(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ['test/tools/generated-schema.ts', await generate('typescript', [])],
    ['test/tools/generated-operations.ts', await generate('operations', [CHART, PAGE, ADD])],
  ]);
}

/** The output of one plugin for a schema. */
export function generate(plugin: keyof typeof PLUGINS, documents: readonly string[], sdl = SDL): Promise<string> {
  return codegen({
    filename: `${plugin}.ts`,
    schema: parse(sdl),
    documents: documents.map((text, index) => ({ location: `${index}.graphql`, document: parse(text) })),
    config: { scalars: SCALARS, useTypeImports: true },
    plugins: [{ [plugin]: {} }],
    pluginMap: { [plugin]: PLUGINS[plugin] },
  });
}
